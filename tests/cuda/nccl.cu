// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Ranks over NCCL: threads of this process, on GPUs of their own or on one.
#include <weft/cuda.cuh>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/launch.hpp>
// [include]
#include <weft/comm/launch_gpu_ranks.cuh>
// [include]
#include <weft/comm/nccl.cuh>
#include <weft/device/arena.hpp>
#include <weft/device/memory_source.hpp>

#include "updates.hpp"

namespace nccl_tests {

using namespace weft;
using namespace weft::testing;

namespace {

using Threads = comm::ThreadCommunicator;
using Nccl = comm::NcclCommunicator<Threads>;

static_assert(comm::Communicator<Nccl>);
static_assert(comm::Communicator<comm::NcclDeviceCommunicator<Threads>>);

//! Whether NCCL takes so many ranks on the GPUs that are here; says why if not.
bool takes_ranks(int ranks) {
  int gpus = 0, version = 0;
  cudaGetDeviceCount(&gpus);
  ncclGetVersion(&version);
  if (gpus >= ranks) return true;
  if (version >= NCCL_VERSION(2, 30, 0)) return true;
  WARN("not run: " << gpus << " GPUs, and NCCL " << version
                   << " takes several ranks on one from 2.30 on");
  return false;
}

//! Begins to receive four floats from rank 1.
template <class C>
void receive_four(C& communicator, typename C::Transfer& transfer, float* to) {
  communicator.post(std::vector{comm::receive_from(1, to, 4)}, {"an exchange"}, transfer);
}

template <class Updates>
std::vector<std::vector<float>> on_ranks(int ranks, const Updates& updates) {
  std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, comm::Timeout(60), [&](Threads& threads) {
    Nccl communicator(threads);
    values[static_cast<std::size_t>(threads.rank())] = updates(communicator);
  });
  return values;
}

}  // namespace

TEST_CASE("a rank sends to itself by NCCL", "[nccl]") {
  Cuda device;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  const auto never_late = [] {};
  comm::detail::NcclConnection connection(device, id, /*rank=*/0, /*size=*/1, never_late);
  const auto numbers = to_device<float>(device, std::vector{1.0f, 2.0f, 0.0f, 0.0f}, {4});
  cudaEvent_t begun = nullptr, ended = nullptr;
  REQUIRE(cudaEventCreate(&begun) == cudaSuccess);
  REQUIRE(cudaEventCreate(&ended) == cudaSuccess);
  connection.start(std::vector{comm::send_to(0, numbers.data(), 8),
                               comm::receive_from(0, numbers.data() + 2, 8)},
                   begun, ended, never_late);
  REQUIRE(cudaStreamWaitEvent(device.stream(), ended) == cudaSuccess);
  CHECK(to_host(numbers) == std::vector{1.0f, 2.0f, 1.0f, 2.0f});
  cudaEventDestroy(begun);
  cudaEventDestroy(ended);
}

TEST_CASE("a rank that is alone connects to nobody", "[nccl]") {
  comm::launch_threads(1, comm::Timeout(3), [](Threads& threads) {
    Cuda device;
    for (const auto posted_by : {comm::PostedBy::all, comm::PostedBy::pair}) {
      const comm::NcclDeviceCommunicator<Threads> alone(device, Nccl(threads), posted_by);
      CHECK(alone.size() == 1);
    }
    // Nobody's kernels wait for others: memory comes and goes as without NCCL.
    CHECK(device.has_pages());
    for (index_t i = 2; i < 10; ++i) static_cast<void>(device.allocate(i * least_segment));
    const ArenaStatistics statistics = device.memory().statistics();
    CHECK(statistics.held <= 2 * statistics.peak + least_segment);
  });
}

TEST_CASE("ranks that are no neighbours connect, whatever each posts first", "[nccl][large]") {
  constexpr int ranks = 4;
  if (!takes_ranks(ranks)) return;
  std::vector<std::vector<float>> received(ranks);
  comm::launch_threads(ranks, comm::Timeout(20), [&](Threads& threads) {
    const int rank = threads.rank();
    Nccl communicator(threads);
    Cuda device(1, rank);
    auto by_pairs = comm::device_communicator(device, communicator, comm::PostedBy::pair);
    const auto mine = static_cast<float>(rank);
    const auto numbers = to_device<float>(device, std::vector{mine, -1.0f, -1.0f, -1.0f}, {4});
    std::vector<comm::Message> sends, receives;
    for (const int away : {2, 1, 3}) {
      const int peer = (rank + away) % ranks;
      sends.push_back(comm::send_to(peer, numbers.data(), 1));
      receives.push_back(comm::receive_from(peer, numbers.data() + away, 1));
    }
    decltype(by_pairs)::Transfer sent, come;
    by_pairs.post(sends, {"an exchange"}, sent);
    by_pairs.post(receives, {"an exchange"}, come);
    sent.wait();
    come.wait();
    received[static_cast<std::size_t>(rank)] = to_host(numbers);
  });
  CHECK(received ==
        std::vector<std::vector<float>>{{0, 1, 2, 3}, {1, 2, 3, 0}, {2, 3, 0, 1}, {3, 0, 1, 2}});
}

TEST_CASE("a transfer that nobody asked about before it ended may go", "[nccl][large]") {
  if (!takes_ranks(2)) return;
  comm::launch_threads(2, comm::Timeout(20), [](Threads& threads) {
    Nccl communicator(threads);
    Cuda device(1, threads.rank());
    auto by_nccl = comm::device_communicator(device, communicator, comm::PostedBy::all);
    const Tensor<float, Cuda> numbers(device, {2});
    using Transfer = decltype(by_nccl)::Transfer;
    const auto post = [&](Transfer& transfer) {
      const int other = 1 - threads.rank();
      by_nccl.post(std::vector{comm::send_to(other, numbers.data(), 1),
                               comm::receive_from(other, numbers.data() + 1, 1)},
                   {"an exchange"}, transfer);
    };
    Transfer last;
    {
      Transfer first;
      post(first);
      post(last);
      last.wait();  // the first one is before it
    }
    post(last);
    last.wait();
  });
}

TEST_CASE("ranks over NCCL end with the bits of one device", "[nccl][large]") {
  const auto expected = updates_on_one_gpu();
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    if (!takes_ranks(ranks)) continue;
    const auto replicas = [](const Nccl& nccl) {
      comm::AnyCommunicator any(nccl);
      return distributed_updates<Zero<0>>(any);
    };
    for (const auto& values : on_ranks(ranks, replicas)) CHECK(values == expected);
    for (const auto& values : on_ranks(ranks, distributed_updates<Zero<3>, Nccl>)) {
      CHECK(values == expected);
    }
  }
}

TEST_CASE("stages over NCCL end with the bits of one device", "[nccl][large]") {
  if (!takes_ranks(2)) return;
  const auto expected = stages_on_one_gpu();
  for (const auto& values : on_ranks(2, pipeline_updates<Nccl>)) CHECK(values == expected);
}

TEST_CASE("ranks with GPUs of their own send by NCCL, others by way of the host", "[nccl][large]") {
  // [alias]
  using Train = DistributedDataParallel<SmallModel, SmallLoss, Zero<0>, optim::Adam, Cuda,
                                        comm::AnyCommunicator>;
  // [alias]
  const auto expected = updates_on_one_gpu();
  const auto environment = comm::Environment();  // without a launcher
  int gpus = 0;
  REQUIRE(cudaGetDeviceCount(&gpus) == cudaSuccess);
  for (const int ranks : {gpus, gpus + 1}) {
    CAPTURE(ranks);
    const auto all = static_cast<std::size_t>(ranks);
    std::vector<int> by_nccl(all);
    std::vector<std::vector<float>> ended(all);
    // [launch]
    const auto program = [&](comm::AnyCommunicator& communicator) {
      Cuda gpu(/*threads=*/1, comm::local_index(environment, communicator));
      Train train(gpu, communicator, small_objective(), optim::Adam(), ddp_recipe);
      // [launch]
      const auto rank = static_cast<std::size_t>(communicator.rank());
      ended[rank] = five_updates<train::DeviceBatch>(train);
      by_nccl[rank] = communicator.reaches<Cuda>();
      // [launch]
    };
    comm::launch_gpu_ranks(environment, ranks, comm::default_timeout, program);
    // [launch]
    CHECK(by_nccl == std::vector(all, ranks <= gpus ? 1 : 0));
    CHECK(ended == std::vector(all, expected));
  }
}

TEST_CASE("a rank that is late in NCCL is named", "[nccl][large]") {
  if (!takes_ranks(2)) return;
  CHECK_THROWS_WITH(
      comm::launch_threads(
          2, comm::Timeout(3),
          [](Threads& threads) {
            Nccl communicator(threads);
            Cuda device(1, threads.rank());
            auto over_nccl = comm::device_communicator(device, communicator, comm::PostedBy::all);
            const Tensor<float, Cuda> numbers(device, {8});
            decltype(over_nccl)::Transfer transfer;
            if (threads.rank() == 1) {
              std::this_thread::sleep_for(std::chrono::seconds(8));
            }
            over_nccl.post(std::vector{comm::receive_from(1 - threads.rank(), numbers.data(), 4),
                                       comm::send_to(1 - threads.rank(), numbers.data() + 4, 4)},
                           {"an exchange"}, transfer);
            transfer.wait();
          }),
      Catch::Contains("rank 1 has not entered an exchange within 3 s"));
}

TEST_CASE("a rank that fails while others wait for it over two connections is named",
          "[nccl][large]") {
  if (!takes_ranks(2)) return;
  CHECK_THROWS_WITH(comm::launch_threads(2, comm::Timeout(20),
                                         [](Threads& threads) {
                                           Nccl communicator(threads);
                                           Cuda device(1, threads.rank());
                                           auto first = comm::device_communicator(
                                               device, communicator, comm::PostedBy::all);
                                           auto second = comm::device_communicator(
                                               device, communicator, comm::PostedBy::all);
                                           if (threads.rank() == 1) throw Error("no time");
                                           const Tensor<float, Cuda> numbers(device, {8});
                                           decltype(first)::Transfer one, other;
                                           receive_four(first, one, numbers.data());
                                           receive_four(second, other, numbers.data() + 4);
                                           other.wait();
                                         }),
                    Catch::Contains("rank 1: no time"));
}

TEST_CASE("ranks in an environment in which NCCL may hang are refused", "[nccl]") {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1);
  CHECK_THROWS_WITH(comm::detail::expect_nccl_environment(),
                    Catch::Contains("CUDA_DEVICE_MAX_CONNECTIONS=32 (here \"8\")"));
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  CHECK_NOTHROW(comm::detail::expect_nccl_environment());
  for (const std::string name : {"CUDA_LAUNCH_BLOCKING", "NCCL_COMM_BLOCKING"}) {
    setenv(name.c_str(), "1", 1);
    CHECK_THROWS_WITH(comm::detail::expect_nccl_environment(),
                      Catch::Contains(name + "=0 (here \"1\")"));
    setenv(name.c_str(), "0", 1);
    CHECK_NOTHROW(comm::detail::expect_nccl_environment());
    unsetenv(name.c_str());
  }
}

TEST_CASE("what NCCL needs of the environment is not set once a GPU was asked for", "[nccl]") {
  const Cuda device;
  CHECK_NOTHROW(comm::set_nccl_environment());  // main has set it
  unsetenv("CUDA_MODULE_LOADING");
  CHECK_THROWS_WITH(comm::set_nccl_environment(), Catch::Contains("CUDA_MODULE_LOADING=EAGER has"));
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
}

}  // namespace nccl_tests
