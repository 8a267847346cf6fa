// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Ranks whose allocations fail at a bad moment.
#include <weft/comm/launch.hpp>
#include <weft/comm/sockets.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/trace.hpp>

#include "../failing_allocations.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace out_of_memory_tests {

using namespace weft;
using namespace weft::comm;
using testing::allocations_left;
using testing::most_bytes;

TEST_CASE("whichever allocation fails in a rank that is a thread, it ends with that error") {
  int failed = 0;
  for (long nth = 0; nth < 40; ++nth) {
    CAPTURE(nth);
    try {
      launch_threads(2, Timeout(60.0), [&](ThreadCommunicator& communicator) {
        barrier(communicator);
        if (communicator.rank() == 0) allocations_left = nth;
        std::vector<double> values{1.0, 2.0};
        all_reduce(communicator, std::span(values));
        allocations_left = std::numeric_limits<long>::max();
      });
    } catch (const RankError& error) {
      CHECK(error.rank() == 0);
      CHECK_THROWS_AS(std::rethrow_exception(error.cause()), std::bad_alloc);
      ++failed;
    }
  }
  CHECK(failed > 5);
  CHECK(failed < 40);
}

TEST_CASE("whichever allocation fails where ranks are started, those that run do not wait for it") {
  const auto begin = std::chrono::steady_clock::now();
  int refused = 0;
  for (long nth = 0; nth < 40; ++nth) {
    allocations_left = nth;
    try {
      launch_threads(3, Timeout(60.0), [](ThreadCommunicator& all) { barrier(all); });
    } catch (const SystemError& error) {
      CHECK_THAT(error.message(), Catch::EndsWith(" of 3 threads: std::bad_alloc"));
      ++refused;
    } catch (const std::bad_alloc&) {  // before there was a rank
    }
    allocations_left = std::numeric_limits<long>::max();
  }
  CHECK(refused >= 3);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("a span that there is no memory for is left out of the trace, and ends nothing") {
  start_trace();
  {
    const TraceSpan span("rank 0", "all_reduce");
    allocations_left = 0;
  }
  allocations_left = std::numeric_limits<long>::max();
  { const TraceSpan span("rank 0", "barrier"); }
  const auto spans = take_trace();
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].name == "barrier");
}

TEST_CASE("a message that there is no memory for is not written over another") {
  constexpr index_t large = index_t{8} << 20;
  const int port = comm::detail::port_of(comm::detail::listen_on(0));
  std::string said;
  const auto program = [&](SocketCommunicator& communicator) {
    auto part = communicator.split(0, communicator.rank());
    std::vector<char> bytes(static_cast<std::size_t>(large));
    SocketCommunicator::Transfer transfer;
    const bool sends = communicator.rank() == 0;
    communicator.post(
        std::vector{sends ? send_to(1, bytes.data(), 1000) : receive_from(0, bytes.data(), 1000)},
        {"first"}, transfer);
    transfer.wait();
    if (!sends) {
      std::vector<char>().swap(bytes);
      most_bytes = index_t{1} << 20;
    }
    barrier(part, {"memory is short"});
    if (sends)
      communicator.post(std::vector{send_to(1, bytes.data(), large)}, {"second"}, transfer);
    barrier(part, {"the second message comes"});
  };
  const auto of_rank = [&](int rank) {
    SocketCommunicator communicator(rank, 2, "127.0.0.1", port, Timeout(20.0));
    comm::detail::RankOutcome outcome;
    comm::detail::run_rank(communicator, program, outcome);
    if (rank == 1) said = weft::message_of(outcome.failure);
    communicator.close(Timeout(2.0));
  };
  { const std::jthread zero(of_rank, 0), one(of_rank, 1); }
  CHECK(said == "std::bad_alloc");
}

}  // namespace out_of_memory_tests
