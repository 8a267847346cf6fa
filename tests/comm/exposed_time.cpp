// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/exposed_time.hpp>

#include <weft/core/trace.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

namespace exposed_time_tests {

using namespace weft;

namespace {

struct SlowTransfer {
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
};

}  // namespace

TEST_CASE("the time of all waits is added up, until it is taken") {
  comm::ExposedTime exposed;
  SlowTransfer transfer;
  start_trace();
  exposed.wait(transfer, "rank 0", "wait for bucket", 3);
  exposed.wait(transfer, "rank 0", "wait to send");
  const auto spans = take_trace();
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].name == "wait for bucket 3");
  CHECK(spans[0].end_s - spans[0].begin_s >= 0.02);
  CHECK(exposed.take() >= 0.04);
  CHECK(exposed.take() == 0.0);
}

}  // namespace exposed_time_tests
