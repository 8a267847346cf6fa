// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/start_thread.hpp>

#include <catch2/catch.hpp>

#include <thread>

#include "../message_of.hpp"
#include "../no_threads.hpp"

namespace start_thread_tests {

using namespace weft;

TEST_CASE("a thread runs, or the one who wanted it is named") {
  bool ran = false;
  start_thread<std::thread>("Owner", [&] { ran = true; }).join();
  CHECK(ran);
  const testing::NoThreads none;
  CHECK_THAT(testing::message_of<SystemError>(
                 [] { return start_thread<std::jthread>("Owner", [] {}).joinable(); }),
             Catch::StartsWith("Owner: the system gave no thread: "));
}

}  // namespace start_thread_tests
