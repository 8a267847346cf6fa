// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/exposed_time.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

using namespace weft;

namespace {

struct SlowTransfer {
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
};

}  // namespace

TEST_CASE("the time of all waits is added up, until it is taken") {
  comm::ExposedTime exposed;
  SlowTransfer transfer;
  exposed.wait(transfer);
  exposed.wait(transfer);
  CHECK(exposed.take() >= 0.04);
  CHECK(exposed.take() == 0.0);
}
