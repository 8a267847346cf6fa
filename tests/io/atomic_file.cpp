// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/atomic_file.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "../file_size_limit.hpp"
#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace atomic_file_tests {

using namespace weft;
using io::AtomicFile;
using io::write_file;
using weft::testing::FileSizeLimit;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("a committed file holds all that was written, and nothing else is left") {
  const TemporaryFolder folder;
  const std::string large(300'000, 'x');
  AtomicFile file(folder.path("out"));
  file.write("head");
  file.write(large);
  file.write("");
  file.commit();
  CHECK(contents(folder.path("out")) == "head" + large);
  CHECK(names_in(folder) == std::set<std::string>{"out"});
}

TEST_CASE("until the commit the path holds the old file, after it the new one") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old and longer");
  AtomicFile file(path);
  file.write("new");
  CHECK(contents(path) == "old and longer");
  file.commit();
  CHECK(contents(path) == "new");
}

TEST_CASE("a file that is not committed changes nothing and leaves nothing") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  { AtomicFile(path).write("new"); }
  CHECK(contents(path) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"out"});
}

TEST_CASE("when the disk takes no more, the error says so and the old file survives") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  const std::string large(10'000, 'x');
  {
    const FileSizeLimit limit(4096);
    const auto message = message_of<SystemError>([&] { return write_file(path, large), 0; });
    CHECK(message == "cannot write " + path + ": File too large");
  }
  CHECK(contents(path) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"out"});
}

TEST_CASE("a folder, a missing folder or a file as a folder cannot be written") {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "old");
  const auto attempt = [](const std::string& path) {
    return message_of<SystemError>([&] { return write_file(path, "new"), 0; });
  };
  CHECK_THAT(attempt(folder.path("")), Catch::EndsWith(": Is a directory"));
  CHECK(attempt(file + "/below") == "cannot write " + file + "/below: Not a directory");
  const auto missing = folder.path("missing/out");
  CHECK_THAT(attempt(missing), Catch::StartsWith("cannot create " + missing));
  CHECK_THAT(attempt(missing), Catch::EndsWith(": No such file or directory"));
  CHECK(contents(file) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"file"});
}

TEST_CASE("a pipe or device is refused, not replaced") {
  const TemporaryFolder folder;
  const auto pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& path : {pipe, std::string("/dev/null")}) {
    CHECK(message_of<SystemError>([&] { return write_file(path, "new"), 0; }) ==
          "cannot write " + path + ": it is not a regular file");
  }
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("behind a symbolic link the file is replaced, not the link") {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "old");
  const auto link = folder.path("link");
  std::filesystem::create_symlink("file", link);
  write_file(link, "new");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(contents(file) == "new");

  std::filesystem::remove(file);
  CHECK_THAT(message_of<SystemError>([&] { return write_file(link, "new"), 0; }),
             Catch::EndsWith(": No such file or directory"));
}

TEST_CASE("a private file stays private, and a shared one shared") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  for (const mode_t mode : {0600, 0664}) {  // umask mostly takes the group's right away
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const mode_t mask = ::umask(0022);
    write_file(path, "new");
    ::umask(mask);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
  }
}

TEST_CASE("two writers of one file do not disturb each other; the later commit wins") {
  const TemporaryFolder folder;
  AtomicFile first(folder.path("out")), second(folder.path("out"));
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  CHECK(contents(folder.path("out")) == "first");
  CHECK(names_in(folder) == std::set<std::string>{"out"});
}

TEST_CASE("a name in the current folder needs no slash") {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  write_file("out", "new");
  std::filesystem::current_path(before);
  CHECK(contents(folder.path("out")) == "new");
}

}  // namespace atomic_file_tests
