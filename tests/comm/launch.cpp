// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/launch.hpp>

#include <weft/core/clock.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <span>
#include <stdexcept>
#include <thread>

namespace launch_tests {

using namespace weft;
using namespace weft::comm;

TEST_CASE("every rank runs the program once") {
  std::atomic<int> ranks{0}, calls{0};
  launch_threads(5, Timeout(20.0), [&](ThreadCommunicator& communicator) {
    ranks += communicator.rank();
    ++calls;
  });
  CHECK(calls == 5);
  CHECK(ranks == 10);
}

TEST_CASE("the rank that threw is named, and the others are not waited for in vain") {
  std::atomic<int> aborted{0};
  const auto program = [&](ThreadCommunicator& communicator) {
    if (communicator.rank() == 1) throw std::out_of_range("no such word");
    try {
      barrier(communicator);
    } catch (const CommunicatorAborted& error) {
      if (error.culprit() == 1 && error.message() == "rank 1 failed: no such word") ++aborted;
      throw;
    }
  };
  try {
    launch_threads(4, Timeout(60.0), program);
    FAIL("nothing was thrown");
  } catch (const RankError& error) {
    CHECK(error.rank() == 1);
    CHECK(error.message() == "rank 1: no such word");
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), std::out_of_range);
  }
  CHECK(aborted == 3);
}

TEST_CASE("a rank that leaves early is missed at once") {
  const auto program = [&](ThreadCommunicator& communicator) {
    barrier(communicator, {"the first"});
    if (communicator.rank() == 0) return;
    auto some = communicator.split(0, 0);  // rank 0 takes no part
    barrier(some);
  };
  const double begin = monotonic_seconds();
  CHECK_THROWS_WITH(launch_threads(3, Timeout(600.0), program),
                    Catch::Contains("rank 0 has not entered split, and has ended"));
  CHECK(monotonic_seconds() - begin < 60.0);
}

TEST_CASE("what a rank has sent before it ended arrives") {
  std::atomic<int> arrived{0};
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    // Around the 20 ms after which a rank looks who is gone, and once for long: a rank that is late
    // is not taken for one that has ended.
    const std::chrono::milliseconds late(round == 0 ? 150 : 18 + round % 5);
    launch_threads(3, Timeout(600.0), [&](ThreadCommunicator& communicator) {
      // Each but the last ends as soon as the next one has what it waits for.
      int value = round;
      ThreadCommunicator::Transfer transfer;
      const auto pass = [&](const Message& message) {
        communicator.post(std::span(&message, 1), {"pass"}, transfer);
        transfer.wait();
      };
      if (communicator.rank() > 0) {
        value = -1;
        pass(receive_from(communicator.rank() - 1, &value, 1));
      }
      if (communicator.rank() == 0) std::this_thread::sleep_for(late);
      if (communicator.rank() < 2) pass(send_to(communicator.rank() + 1, &value, 1));
      if (communicator.rank() == 2 && value == round) ++arrived;
    });
  }
  CHECK(arrived == rounds);
}

TEST_CASE("who goes on after another rank has failed is named with the failure") {
  using namespace std::chrono_literals;
  comm::detail::EndedRanks ended(3);
  ended.end(1, {std::make_exception_ptr(Error("no such word")), false});
  ended.end(0, {std::make_exception_ptr(CommunicatorAborted(1, "no such word")), true});
  CHECK(ended.wait(10ms) == "rank 1: no such word\nwaiting for rank 2");
  ended.end(2, {});
  CHECK(ended.wait(10ms) == "");
}

TEST_CASE("what ends the ranks of a rank ends the others with it") {
  const auto program = [&](ThreadCommunicator& outer) {
    if (outer.rank() != 2) return barrier(outer);
    auto inner = ThreadCommunicator::world(2, Timeout(0.1));
    barrier(inner[0], {"the inner one"});  // nobody else comes
  };
  CHECK_THROWS_WITH(launch_threads(3, Timeout(60.0), program),
                    Catch::Contains("rank 1 has not entered the inner one"));
}

}  // namespace launch_tests
