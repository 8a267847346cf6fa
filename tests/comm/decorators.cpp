// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/decorators.hpp>

#include <weft/comm/collectives.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>

#include <catch2/catch.hpp>

#include <chrono>
#include <string>

namespace decorators_tests {

using namespace weft;
using namespace weft::comm;

TEST_CASE("counting counts what is sent, not what is received") {
  Traffic traffic;
  launch_threads(3, Timeout(20.0), [&](ThreadCommunicator& communicator) {
    Traffic unused;
    auto counted = counting(communicator, communicator.rank() == 1 ? traffic : unused);
    const double value = 1.0;
    static_cast<void>(all_gather(counted, std::span(&value, 1)));
  });
  CHECK(traffic.messages == 2);
  CHECK(traffic.bytes == 16);
}

TEST_CASE("a rank that is delayed within the timeout does no harm") {
  const auto begin = std::chrono::steady_clock::now();
  launch_threads(2, Timeout(20.0), [&](ThreadCommunicator& communicator) {
    auto slow = delaying(communicator, [&](const Purpose&) { return 0.05; });
    barrier(slow);
  });
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(50));
}

TEST_CASE("messages that are lost are missed") {
  const auto program = [&](ThreadCommunicator& communicator) {
    auto lossy = dropping(communicator, [&](const Purpose& purpose) {
      return communicator.rank() == 1 && purpose.number == 2;
    });
    for (int round = 0; round < 4; ++round) barrier(lossy, {"barrier", "round", round});
  };
  CHECK_THROWS_WITH(launch_threads(2, Timeout(1.0), program), Catch::Contains("round 2"));
}

TEST_CASE("a rank fails in the call it is told to, also in a world that was split off") {
  const auto program = [&](ThreadCommunicator& communicator) {
    auto bad = failing(communicator, communicator.rank() == 2 ? 3 : 1000);
    auto part = bad.split(0, 0);
    for (int round = 0; round < 9; ++round) barrier(bad, {"barrier", "round", round});
    barrier(part);
  };
  CHECK_THROWS_WITH(launch_threads(3, Timeout(20.0), program),
                    Catch::Contains("rank 2: injected failure in barrier of round"));
}

}  // namespace decorators_tests
