// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/any_communicator.hpp>

#include <weft/comm/collectives.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/self.hpp>

#include <catch2/catch.hpp>

#include <numeric>
#include <span>
#include <vector>

namespace any_communicator_tests {

using namespace weft;
using namespace weft::comm;

TEST_CASE("any communicator does what the one that it holds does") {
  constexpr int ranks = 4;
  std::vector<int> sums(ranks), sizes(ranks);
  launch_threads(ranks, Timeout(20.0), [&](ThreadCommunicator& threads) {
    AnyCommunicator any(threads);
    const auto rank = static_cast<std::size_t>(any.rank());
    AnyCommunicator copy = any;
    AnyCommunicator pair = copy.split(any.rank() / 2, 0);
    int sum = any.rank();
    all_reduce(pair, std::span(&sum, 1));
    barrier(any);
    sums[rank] = sum;
    sizes[rank] = pair.size();
  });
  CHECK(sums == std::vector<int>{1, 1, 5, 5});
  CHECK(sizes == std::vector<int>(ranks, 2));
}

TEST_CASE("a transfer of any communicator serves another kind next") {
  AnyCommunicator self{SelfCommunicator()};
  AnyCommunicator::Transfer transfer;
  CHECK(transfer.done());
  self.post({}, {"nothing"}, transfer);
  CHECK(transfer.done());
  AnyCommunicator thread(ThreadCommunicator::world(1).front());
  thread.post({}, {"nothing"}, transfer);
  transfer.wait();
  CHECK(thread.timeout() == default_timeout);
}

TEST_CASE("a failure passes through any communicator") {
  std::vector<int> culprits(2, -1);
  launch_threads(2, Timeout(20.0), [&](ThreadCommunicator& threads) {
    AnyCommunicator any(threads);
    if (any.rank() == 1) {
      any.abort(1, "gone");
      return;
    }
    try {
      barrier(any);
    } catch (const CommunicatorAborted& aborted) {
      culprits[0] = aborted.culprit();
    }
  });
  CHECK(culprits[0] == 1);
}

}  // namespace any_communicator_tests
