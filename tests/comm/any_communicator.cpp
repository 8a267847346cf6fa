// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/any_communicator.hpp>

#include <weft/comm/collectives.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/self.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/far_device.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace any_communicator_tests {

using namespace weft;
using namespace weft::comm;
using testing::FarDevice;

namespace {

//! Threads, and what carries the memory of their far devices.
struct FarThreads : ThreadCommunicator {
  using Device = FarDevice;

  explicit FarThreads(ThreadCommunicator threads) : ThreadCommunicator(std::move(threads)) {}
  FarThreads split(int color, int key) { return FarThreads(ThreadCommunicator::split(color, key)); }
};

//! Counts what it carries.
struct FarCarrier : StagedCommunicator<FarDevice, ThreadCommunicator> {
  using Staged = StagedCommunicator<FarDevice, ThreadCommunicator>;
  static inline std::atomic<int> posts = 0, pairs = 0;

  FarCarrier(FarDevice& device, FarThreads threads, PostedBy posted_by)
      : Staged(device, std::move(threads)) {
    pairs += posted_by == PostedBy::pair ? 1 : 0;
  }
  explicit FarCarrier(Staged staged) : Staged(std::move(staged)) {}
  FarCarrier split(int color, int key) { return FarCarrier(Staged::split(color, key)); }
  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    ++posts;
    Staged::post(messages, purpose, transfer);
  }
};

}  // namespace
}  // namespace any_communicator_tests

template <>
struct weft::comm::DeviceCommunicatorOf<weft::testing::FarDevice,
                                        any_communicator_tests::FarThreads> {
  using Type = any_communicator_tests::FarCarrier;
};

namespace any_communicator_tests {

static_assert(std::is_same_v<DeviceCommunicator<FarDevice, AnyCommunicator>, AnyCommunicator>);
static_assert(std::is_same_v<DeviceCommunicator<Cpu, AnyCommunicator>, AnyCommunicator>);

namespace {

//! What ranks hold once rank 1 has sent a number from its device, each over `Held`.
template <class Held>
std::vector<float> sent_from_devices(bool reaches) {
  std::vector<float> found(2);
  launch_threads(2, Timeout(20.0), [&](ThreadCommunicator& threads) {
    AnyCommunicator hosts{Held(threads)};
    const auto rank = static_cast<std::size_t>(hosts.rank());
    FarDevice device;
    AnyCommunicator devices = device_communicator(device, hosts, PostedBy::pair);
    const std::vector<float> number{rank == 1 ? 3.0f : 0.0f};
    const auto values = to_device<float>(device, number, {1});
    AnyCommunicator::Transfer transfer;
    devices.post(
        std::vector{rank == 1 ? send_to(0, values.data(), 1) : receive_from(1, values.data(), 1)},
        {"a number"}, transfer);
    transfer.wait();
    found[rank] = to_host(values)[0];
    if (hosts.reaches<FarDevice>() != reaches || hosts.reaches<Cpu>()) throw Error("wrong reach");
  });
  return found;
}

}  // namespace

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

TEST_CASE("what lies on devices goes as the communicator that any communicator holds carries it") {
  CHECK(sent_from_devices<FarThreads>(/*reaches=*/true) == std::vector{3.0f, 3.0f});
  CHECK(FarCarrier::posts == 2);
  CHECK(FarCarrier::pairs == 2);
}

TEST_CASE("what lies on devices goes by way of the host where any communicator knows no better") {
  FarCarrier::posts = 0;
  CHECK(sent_from_devices<ThreadCommunicator>(/*reaches=*/false) == std::vector{3.0f, 3.0f});
  CHECK(FarCarrier::posts == 0);
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
