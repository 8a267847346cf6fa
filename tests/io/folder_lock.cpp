// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/folder_lock.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace folder_lock_tests {

using namespace weft;
using io::FolderLock;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

TEST_CASE("a folder has one holder at a time, and the second is told who it is") {
  const TemporaryFolder folder;
  auto first = std::make_unique<FolderLock>(folder.path(""));
  const auto said = message_of<SystemError>([&] { return FolderLock(folder.path("")), 0; });
  CHECK_THAT(said, Catch::StartsWith("another run writes to " + folder.path("") + ": process " +
                                     std::to_string(::getpid()) + " on "));
  folder.write("lock", "\x1B[2J");  // by whoever may
  CHECK(message_of<SystemError>([&] { return FolderLock(folder.path("")), 0; }) ==
        "another run writes to " + folder.path("") + ": ?[2J");
  first.reset();
  CHECK_NOTHROW(FolderLock(folder.path("")));
}

TEST_CASE("who lets go of a folder whose lock was cleared away leaves the next holder its own") {
  const TemporaryFolder folder;
  auto first = std::make_unique<FolderLock>(folder.path(""));
  std::filesystem::remove(folder.path("lock"));
  const FolderLock second(folder.path(""));
  first.reset();
  CHECK_THAT(message_of<SystemError>([&] { return FolderLock(folder.path("")), 0; }),
             Catch::StartsWith("another run writes to "));
}

TEST_CASE("the folder of a process that was killed is free") {
  const TemporaryFolder folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path(""));
    [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK_THAT(message_of<SystemError>([&] { return FolderLock(folder.path("")), 0; }),
             Catch::Contains(text(": process ", child, " on ")));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_NOTHROW(FolderLock(folder.path("")));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a folder that is not there cannot be held") {
  const TemporaryFolder folder;
  CHECK(message_of<SystemError>([&] { return FolderLock(folder.path("missing")), 0; }) ==
        "cannot write " + folder.path("missing/lock") + ": No such file or directory");
}

TEST_CASE("however many want a folder at the same moment, one at a time has it") {
  const TemporaryFolder folder;
  std::atomic<int> holders{0}, most{0}, held{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          try {
            const FolderLock lock(folder.path(""));
            most = std::max(most.load(), ++holders);
            ++held;
            --holders;
          } catch (const SystemError&) {
          }
        }
      });
    }
  }
  CHECK(most == 1);
  CHECK(held > 0);
  CHECK_FALSE(std::filesystem::exists(folder.path("lock")));
}

}  // namespace folder_lock_tests
