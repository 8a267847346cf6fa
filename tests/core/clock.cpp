// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/clock.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

namespace clock_tests {

TEST_CASE("the clock counts seconds and never goes back") {
  const double begin = weft::monotonic_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double passed = weft::monotonic_seconds() - begin;
  CHECK(passed >= 0.01);
  CHECK(passed < 10.0);
}

}  // namespace clock_tests
