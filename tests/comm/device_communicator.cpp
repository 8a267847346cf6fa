// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/device_communicator.hpp>

#include <weft/comm/collectives.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/threads.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/far_device.hpp>

#include <catch2/catch.hpp>

#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace device_communicator_tests {

using namespace weft;
using namespace weft::comm;
using testing::FarDevice;

namespace {

constexpr Timeout patience{60.0};
constexpr int ranks = 3;

using Staged = StagedCommunicator<FarDevice, ThreadCommunicator>;

static_assert(Communicator<Staged>);
static_assert(std::is_same_v<DeviceCommunicator<FarDevice, ThreadCommunicator>, Staged>);
static_assert(std::is_same_v<DeviceCommunicator<Cpu, ThreadCommunicator>, ThreadCommunicator>);

//! Calls `f(device, communicator)` on every rank; returns what each of them found.
template <class F>
std::vector<std::vector<float>> on_ranks(const F& f) {
  std::vector<std::vector<float>> found(ranks);
  launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    FarDevice device;
    auto staged = device_communicator(device, communicator, PostedBy::all);
    found[static_cast<std::size_t>(communicator.rank())] = f(device, staged);
  });
  return found;
}

Tensor<float, FarDevice> filled(FarDevice& device, index_t n, float value) {
  const std::vector<float> values(static_cast<std::size_t>(n), value);
  return to_device<float>(device, values, {n});
}

}  // namespace

TEST_CASE("pieces on devices are gathered on devices") {
  const auto found = on_ranks([](FarDevice& device, Staged& staged) {
    const auto values = filled(device, 6, static_cast<float>(staged.rank()));
    const std::vector<Range> pieces{{0, 1}, {1, 3}, {3, 6}};
    std::vector<Message> messages;
    Staged::Transfer transfer;
    for (int round = 0; round < 2; ++round) {  // a transfer serves again
      start_all_gather(staged, values.data(), std::span<const Range>(pieces), {"all_gather"},
                       transfer, messages);
      transfer.wait();
    }
    return to_host(values);
  });
  for (const auto& values : found) CHECK(values == std::vector<float>{0, 1, 1, 2, 2, 2});
}

TEST_CASE("what was sent may change once it was posted, and what came is there when it is done") {
  CHECK(Staged::Transfer{}.done());
  const auto found = on_ranks([](FarDevice& device, Staged& staged) {
    const int next = (staged.rank() + 1) % ranks, previous = (staged.rank() + ranks - 1) % ranks;
    const auto mine = filled(device, 4, static_cast<float>(staged.rank()));
    const auto theirs = filled(device, 4, -1.0f);
    Staged::Transfer transfer;
    staged.post(
        std::vector{send_to(next, mine.data(), 4), receive_from(previous, theirs.data(), 4)},
        {"a ring"}, transfer);
    device.clear(mine.data(), 4 * sizeof(float));
    while (!transfer.done()) std::this_thread::yield();
    return to_host(theirs);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto previous = static_cast<float>((rank + ranks - 1) % ranks);
    CHECK(found[static_cast<std::size_t>(rank)] == std::vector<float>(4, previous));
  }
}

TEST_CASE("a transfer serves again, for another device than one that is gone") {
  launch_threads(ranks, patience, [](ThreadCommunicator& communicator) {
    const int next = (communicator.rank() + 1) % ranks;
    const int previous = (communicator.rank() + ranks - 1) % ranks;
    Staged::Transfer transfer;
    for (const int device_index : {0, 1}) {
      FarDevice device(1, device_index);
      auto staged = device_communicator(device, communicator, PostedBy::all);
      const auto mine = filled(device, 4, 1.0f), theirs = filled(device, 4, -1.0f);
      staged.post(
          std::vector{send_to(next, mine.data(), 4), receive_from(previous, theirs.data(), 4)},
          {"a ring"}, transfer);
      transfer.wait();
      if (to_host(theirs) != std::vector<float>(4, 1.0f)) throw Error("it did not arrive");
    }
  });
}

TEST_CASE("one piece for all ranks and several for one arrive where they should") {
  const auto found = on_ranks([](FarDevice& device, Staged& staged) {
    const auto values = filled(device, 2, 0.0f);
    const std::vector<float> numbers{1.0f, 2.0f, 3.0f};
    const auto three = to_device<float>(device, numbers, {3});
    std::vector<Message> messages;
    if (staged.rank() == 0) {
      for (const int peer : {1, 2}) {
        messages.push_back(send_to(peer, three.data() + 1, 1));
        messages.push_back(send_to(peer, three.data() + peer - 1, 1));
      }
    } else {
      messages = {receive_from(0, values.data(), 1), receive_from(0, values.data() + 1, 1)};
    }
    Staged::Transfer transfer;
    staged.post(messages, {"scatter"}, transfer);
    transfer.wait();
    return to_host(values);
  });
  CHECK(found[1] == std::vector<float>{2, 1});
  CHECK(found[2] == std::vector<float>{2, 2});
}

TEST_CASE("a rank that fails is named to ranks that wait on devices, also in a part of them") {
  CHECK_THROWS_WITH(launch_threads(ranks, patience,
                                   [](ThreadCommunicator& communicator) {
                                     FarDevice device;
                                     auto staged =
                                         device_communicator(device, communicator, PostedBy::pair);
                                     auto part = staged.split(0, staged.rank());
                                     if (part.rank() == 1) throw Error("out of paper");
                                     const auto values = filled(device, 1, 0.0f);
                                     Staged::Transfer transfer;
                                     part.post(std::vector{receive_from(1, values.data(), 1)},
                                               {"a wait"}, transfer);
                                     transfer.wait();
                                   }),
                    Catch::Contains("rank 1: out of paper"));
}

}  // namespace device_communicator_tests
