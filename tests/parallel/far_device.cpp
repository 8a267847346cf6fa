// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/far_device.hpp>

#include <weft/comm/launch.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/distributed_optimizer.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>

#include "outcome.hpp"
#include "small_pipes.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace far_device_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;
using parallel::Shard;

namespace {

constexpr comm::Timeout patience{60.0};
constexpr parallel::BucketSizes small_buckets{2 * ops::block_size * 4, 4};
constexpr parallel::Recipe recipe{.seed = 5, .lanes = 3, .micro_batches = 8, .clip_norm = 1.0};

template <class D>
Outcome accumulated() {
  D device;
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, D> strategy(device, small_objective(),
                                                                       optim::Adam(), recipe);
  return train_on_small_batches(strategy, 5);
}

Outcome in_parallel(int devices) {
  const DeviceGroup<FarDevice> group(devices);
  DataParallel<SmallModel, SmallLoss, optim::Adam, FarDevice> strategy(group, small_objective(),
                                                                       optim::Adam(), recipe);
  return train_on_small_batches(strategy, 5);
}

template <Shard shard>
std::vector<Outcome> on_ranks(int ranks, parallel::Exchange exchange = {}) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    FarDevice device;
    DistributedDataParallel<SmallModel, SmallLoss, shard, optim::Adam, FarDevice> strategy(
        device, communicator, small_objective(), optim::Adam(), recipe, small_buckets, exchange);
    outcomes[static_cast<std::size_t>(communicator.rank())] = train_on_small_batches(strategy, 5);
  });
  return outcomes;
}

constexpr parallel::Recipe pipe_recipe{.seed = 5, .lanes = 1, .micro_batches = 4, .clip_norm = 1.0};

//! Two stages that share a weight, in three updates.
const auto pipe_objective = small_pipe_objective<OneForwardOneBackward<4>, 2, true>;
using PipeModel = std::remove_cvref_t<decltype(pipe_objective().model())>;

template <class Strategy>
std::vector<float> train_on_words(Strategy& strategy) {
  for (std::uint32_t update = 0; update < 3; ++update) {
    static_cast<void>(strategy.step(WordsBatch(random_translations(13, update)), 0.002));
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().values());
}

}  // namespace

TEST_CASE("whoever touches a far device's memory outside of an operation ends") {
  FarDevice device;
  const std::vector<float> ones(8, 1.0f);
  const auto tensor = to_device<float>(device, ones, {8});
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    const volatile float touched = *tensor.data();
    _exit(touched == 1.0f ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(to_host(tensor) == ones);
}

TEST_CASE("strategies of one process reach a device's memory by its operations only") {
  const Outcome expected = accumulated<Cpu>();
  CHECK(accumulated<FarDevice>() == expected);
  for (const int devices : {1, 2}) CHECK(in_parallel(devices) == expected);
}

TEST_CASE("ranks exchange what lies where the host cannot reach it") {
  const Outcome expected = accumulated<Cpu>();
  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    for (const auto& outcome : on_ranks<Zero<0>>(ranks)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<1>>(ranks)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<2>>(ranks)) CHECK(outcome == expected);
    for (const auto& outcome : on_ranks<Zero<3>>(ranks)) CHECK(outcome == expected);
  }
}

TEST_CASE("stages hand on what lies where the host cannot reach it") {
  std::vector<float> expected;
  {
    Cpu device;
    GradientAccumulation<PipeModel, PipeLoss<true>> strategy(device, pipe_objective(),
                                                             optim::Adam(), pipe_recipe);
    expected = train_on_words(strategy);
  }
  std::vector<int> alike(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    FarDevice device;
    PipelineParallel<PipeModel, PipeLoss<true>, Shard::nothing, optim::Adam, FarDevice> strategy(
        device, communicator, pipe_objective(), optim::Adam(), pipe_recipe);
    alike[static_cast<std::size_t>(communicator.rank())] =
        train_on_words(strategy) == expected ? 1 : 0;
  });
  CHECK(alike == std::vector{1, 1});
}

TEST_CASE("an optimizer over ranks reduces what lies where the host cannot reach it") {
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    FarDevice device;
    const std::vector<float> values(5000, 1.0f);
    DistributedOptimizer<optim::Sgd, FarDevice> optimizer(device, communicator, optim::Sgd(),
                                                          values);
    const std::vector<float> mine(5000, communicator.rank() == 0 ? 1.0f : 3.0f);
    const auto gradients = to_device<float>(device, mine, {5000});
    optimizer.step({gradients.data(), 5000}, {Sum<of::Loss>(1.0), Count<of::Tokens>(2)}, 0.5);
    // The mean over four labels is 1.
    if (to_host(optimizer.state().values()) != std::vector<float>(5000, 0.5f)) {
      throw Error("the update of another gradient");
    }
  });
}

}  // namespace far_device_tests
