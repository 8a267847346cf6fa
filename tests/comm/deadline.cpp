// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/deadline.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "../message_of.hpp"
#include "../no_threads.hpp"

namespace deadline_tests {

using namespace weft;

TEST_CASE("what ends in time is left alone, and not waited for") {
  const auto begin = std::chrono::steady_clock::now();
  { const comm::Deadline deadline("a call", comm::Timeout(60.0)); }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("a process whose call does not return says so and exits with the status of an abort") {
  std::array<int, 2> output{};
  REQUIRE(::pipe(output.data()) == 0);
  std::fflush(stdout);  // the child would write what this process has not yet written, too
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(output[1], STDERR_FILENO);
    ::dup2(output[1], STDOUT_FILENO);
    std::printf("epoch 1\n");  // into the buffer of a pipe
    const comm::Deadline deadline("MPI_Init", comm::Timeout(0.05));
    for (;;) ::pause();
  }
  ::close(output[1]);
  std::string said;
  char byte = 0;
  while (::read(output[0], &byte, 1) == 1) said += byte;
  ::close(output[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(said == "MPI_Init has not returned within 0.05 s: another rank does not run\nepoch 1\n");
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == comm::aborted_status);
}

TEST_CASE("without a thread nothing is watched, and an error says so") {
  const testing::NoThreads none;
  CHECK_THAT(testing::message_of<SystemError>(
                 [] { return comm::Deadline("a call", comm::Timeout(60.0)), 0; }),
             Catch::StartsWith("Deadline: the system gave no thread: "));
}

}  // namespace deadline_tests
