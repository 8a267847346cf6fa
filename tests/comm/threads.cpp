// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/threads.hpp>

#include <weft/comm/launch.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <latch>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace threads_tests {

using namespace weft;
using namespace weft::comm;

namespace {

constexpr Timeout patience{20.0};
//! Long enough for all threads to start on a busy machine.
constexpr Timeout little{1.0};

//! How each rank's program ended: what it threw, or "".
struct Ended {
  std::string message;
  int culprit = -1;
};

//! Runs a program on every rank and keeps what each throws.
template <class Program>
std::vector<Ended> ends(int ranks, Timeout timeout, const Program& program) {
  std::vector<Ended> ended(static_cast<std::size_t>(ranks));
  launch_threads(ranks, timeout, [&](ThreadCommunicator& communicator) {
    try {
      program(communicator);
    } catch (const CommunicatorAborted& aborted) {
      ended[static_cast<std::size_t>(communicator.rank())] = {aborted.message(), aborted.culprit()};
    }
  });
  return ended;
}

//! Counts down when its scope is left.
struct Leaving {
  std::latch& latch;
  ~Leaving() { latch.count_down(); }
};

void sleep(Timeout time) { std::this_thread::sleep_for(time); }

void post_and_wait(ThreadCommunicator& communicator, const Message& message,
                   const Purpose& purpose) {
  ThreadCommunicator::Transfer transfer;
  communicator.post(std::span(&message, 1), purpose, transfer);
  transfer.wait();
}

}  // namespace

TEST_CASE("messages of one direction arrive in the order of their posts") {
  constexpr int count = 50;
  std::vector<int> received(count);
  launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    std::vector<ThreadCommunicator::Transfer> transfers(count);
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) {
      auto& value = communicator.rank() == 0 ? values[static_cast<std::size_t>(i)]
                                             : received[static_cast<std::size_t>(i)];
      if (communicator.rank() == 0) value = i;
      const Message message =
          communicator.rank() == 0 ? send_to(1, &value, 1) : receive_from(0, &value, 1);
      communicator.post(std::span(&message, 1), {"send"}, transfers[static_cast<std::size_t>(i)]);
    }
    for (auto& transfer : transfers) transfer.wait();
  });
  for (int i = 0; i < count; ++i) CHECK(received[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a transfer is not done before its partner came, and serves again") {
  launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    ThreadCommunicator::Transfer transfer;
    if (!transfer.done()) throw Error("an empty transfer is done");
    for (int round = 0; round < 3; ++round) {
      float mine = static_cast<float>(communicator.rank()), theirs = -1.0f;
      const int peer = 1 - communicator.rank();
      const std::vector<Message> messages{send_to(peer, &mine, 1), receive_from(peer, &theirs, 1)};
      if (communicator.rank() == 0) sleep(Timeout(0.01));
      communicator.post(messages, {"exchange"}, transfer);
      while (!transfer.done()) std::this_thread::yield();
      if (theirs != static_cast<float>(peer)) throw Error("wrong value");
    }
  });
}

TEST_CASE("a rank that is late is named, with what it is late for and where it was last") {
  std::latch others(2);
  const auto ended = ends(3, little, [&](ThreadCommunicator& communicator) {
    barrier(communicator, {"all_reduce", "bucket", 3, 91});
    if (communicator.rank() == 2) {
      others.wait();
    } else {
      const Leaving leaving{others};
      barrier(communicator, {"all_reduce", "bucket", 4, 91});
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    const auto& [message, culprit] = ended[static_cast<std::size_t>(rank)];
    CHECK(culprit == 2);
    CHECK(message ==
          "rank 2 has not entered all_reduce of bucket 4, update 91 within 1 s; last seen in "
          "all_reduce of bucket 3, update 91");
  }
}

TEST_CASE("of ranks that wait for one another, the one that waits for nobody is named") {
  std::latch others(3);
  const auto ended = ends(4, little, [&](ThreadCommunicator& communicator) {
    int value = communicator.rank();
    if (communicator.rank() == 3) {
      others.wait();
    } else {  // 0 waits for 1, 1 for 2, 2 for 3
      const Leaving leaving{others};
      post_and_wait(communicator, receive_from(communicator.rank() + 1, &value, 1), {"receive"});
    }
  });
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(ended[static_cast<std::size_t>(rank)].culprit == 3);
  }
}

TEST_CASE("a deadlock is called one") {
  const auto ended = ends(2, little, [](ThreadCommunicator& communicator) {
    int value = 0;
    post_and_wait(communicator, receive_from(1 - communicator.rank(), &value, 1),
                  {"receive", "activations", communicator.rank()});
  });
  CHECK_THAT(ended[0].message, Catch::StartsWith("the ranks wait for each other: rank "));
  CHECK_THAT(ended[0].message, Catch::Contains("receive of activations 1"));
  CHECK(ended[0].message == ended[1].message);
}

TEST_CASE("ranks whose programs differ learn it at once") {
  SECTION("in size") {
    const auto ended = ends(2, patience, [](ThreadCommunicator& communicator) {
      std::vector<float> values(communicator.rank() == 0 ? 3 : 4);
      all_reduce(communicator, std::span(values), {"all_reduce", "losses"});
    });
    CHECK_THAT(ended[0].message, Catch::StartsWith("the ranks' programs differ: "));
    CHECK_THAT(ended[0].message, Catch::Contains("12 bytes in all_reduce of losses"));
    CHECK_THAT(ended[1].message, Catch::Contains("16 bytes in all_reduce of losses"));
  }
  SECTION("in purpose") {
    const auto ended = ends(2, patience, [](ThreadCommunicator& communicator) {
      barrier(communicator, {"all_reduce", "bucket", communicator.rank()});
    });
    for (const auto& [message, culprit] : ended) {
      CHECK_THAT(message, Catch::Contains("bucket 0") && Catch::Contains("bucket 1"));
    }
  }
}

TEST_CASE("a failure reaches ranks in worlds that were split off, and is named by outer ranks") {
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = ends(4, patience, [](ThreadCommunicator& communicator) {
    auto part = communicator.split(communicator.rank() / 2, 0);
    if (communicator.rank() == 3) {
      part.abort(part.rank(), "gone");
      return;
    }
    barrier(part);
    barrier(communicator);
  });
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(ended[static_cast<std::size_t>(rank)].culprit == 3);
    CHECK(ended[static_cast<std::size_t>(rank)].message == "rank 3 failed: gone");
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a rank that waits in one world is not late in another") {
  // Rank 0 stays away, rank 1 waits for it in one world, and rank 2 for rank 1 in the other.
  const auto ended = ends(3, little, [](ThreadCommunicator& communicator) {
    auto other = communicator.split(0, communicator.rank());
    int value = 0;
    ThreadCommunicator::Transfer transfer;
    const auto receive = [&](ThreadCommunicator& from, int peer) {
      const Message message = receive_from(peer, &value, 1);
      from.post(std::span(&message, 1), {"receive"}, transfer);
      transfer.wait();
    };
    if (communicator.rank() == 0) std::this_thread::sleep_for(2 * little);
    if (communicator.rank() == 1) {
      std::this_thread::sleep_for(0.3 *
                                  little);  // so that it is rank 2 which looks for the late one
      receive(communicator, 0);
    }
    if (communicator.rank() == 2) receive(other, 1);
  });
  for (int rank = 1; rank < 3; ++rank) {
    CHECK(ended[static_cast<std::size_t>(rank)].culprit == 0);
    CHECK(ended[static_cast<std::size_t>(rank)].message.starts_with("rank 0 has not entered"));
  }
}

TEST_CASE("memory of a transfer that was given up is not written to") {
  std::latch given_up(1);  // a message that came before would be taken for the one that is expected
  launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    int value = 7;
    if (communicator.rank() == 0) {
      {
        ThreadCommunicator::Transfer transfer;
        const Message message = receive_from(1, &value, 1);
        communicator.post(std::span(&message, 1), {"receive"}, transfer);
      }
      given_up.count_down();
      barrier(communicator);
      if (value != 7) throw Error("written");
    } else {
      given_up.wait();
      barrier(communicator);
    }
  });
}

TEST_CASE("a world has ranks") { CHECK_THROWS_AS(ThreadCommunicator::world(0), ArgumentError); }

TEST_CASE("many ranks at once in many collectives") {
  constexpr int ranks = 5, rounds = 200;
  std::vector<int> right(ranks);
  launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<index_t> values(static_cast<std::size_t>(round % 9 + 1),
                                  communicator.rank() + round);
      all_reduce(communicator, std::span(values), {"all_reduce", "round", round});
      const index_t expected = ranks * (ranks - 1) / 2 + ranks * round;
      const bool all = std::ranges::all_of(values, [&](index_t v) { return v == expected; });
      right[static_cast<std::size_t>(communicator.rank())] += all ? 1 : 0;
    }
  });
  CHECK(right == std::vector<int>(ranks, rounds));
}

TEST_CASE("ranks of copies of a communicator are split apart as of one") {
  std::vector<std::vector<int>> columns(4), rows(4);
  launch_threads(4, patience, [&](ThreadCommunicator& communicator) {
    ThreadCommunicator copy = communicator;  // as decorators hold
    const int rank = communicator.rank();
    auto column = communicator.split(rank % 2, rank);
    auto row = copy.split(rank / 2, rank);
    if (rank == 2) sleep(Timeout(0.1));
    columns[static_cast<std::size_t>(rank)] = all_gather(column, std::span<const int>(&rank, 1));
    rows[static_cast<std::size_t>(rank)] = all_gather(row, std::span<const int>(&rank, 1));
  });
  CHECK(columns == std::vector<std::vector<int>>{{0, 2}, {1, 3}, {0, 2}, {1, 3}});
  CHECK(rows == std::vector<std::vector<int>>{{0, 1}, {0, 1}, {2, 3}, {2, 3}});
}

TEST_CASE("a timeout may be longer than a clock counts") {
  for (const double seconds : {1e10, std::numeric_limits<double>::infinity()}) {
    CAPTURE(seconds);
    CHECK(moment_after(Timeout(seconds)) >
          std::chrono::steady_clock::now() + std::chrono::hours(24 * 365));
    const auto ended = ends(2, Timeout(seconds), [](ThreadCommunicator& communicator) {
      if (communicator.rank() == 1) sleep(Timeout(0.05));
      barrier(communicator);
    });
    CHECK(ended[0].message.empty());
  }
}

}  // namespace threads_tests
