// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/with_average.hpp>

#include <weft/comm/launch.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/moving_average.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/train/saved_model.hpp>
#include <weft/train/saved_state.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"
#include "small_pipes.hpp"

namespace with_average_tests {

using namespace weft;
using namespace weft::testing;
using parallel::Shard;
using parallel::with_average;

namespace {

using Averaging = optim::MovingAverage<optim::Adam>;
const Averaging optimizer(optim::Adam(), 0.6);

constexpr parallel::Recipe recipe{.seed = 5, .lanes = 3, .micro_batches = 6, .clip_norm = 1.0};
constexpr parallel::Recipe pipe_recipe{.seed = 5, .lanes = 2, .micro_batches = 4, .clip_norm = 1.0};

template <class Batch, class Strategy>
double loss_of(Strategy& strategy) {
  const auto batch = random_translations(13, 1'000);
  return strategy.evaluate(Batch(batch)).loss.value();
}

//! All values, as this rank can have them.
template <class Strategy>
std::vector<float> values_of(Strategy& strategy) {
  [[maybe_unused]] const auto whole = strategy.whole_values();
  return to_host(strategy.state().read_values());
}

//! What a training with averages in between leaves behind.
struct Outcome {
  std::vector<float> values, average, restored;
  double loss_of_average = 0.0, loss = 0.0, loss_before = 0.0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

template <class Batch, class Strategy>
Outcome train_and_average(Strategy& strategy) {
  Outcome outcome;
  const auto train = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t update = first; update < last; ++update) {
      const auto batch = random_translations(13, update);
      static_cast<void>(strategy.step(Batch(batch), 0.003));
    }
  };
  train(0, 4);
  outcome.loss_before = loss_of<Batch>(strategy);
  outcome.values = values_of(strategy);
  with_average(strategy, [&] {
    outcome.loss_of_average = loss_of<Batch>(strategy);
    outcome.average = values_of(strategy);
  });
  outcome.restored = values_of(strategy);
  train(4, 6);
  outcome.loss = loss_of<Batch>(strategy);
  return outcome;
}

//! The same on every rank.
template <class Run>
std::vector<Outcome> on_ranks(int ranks, const Run& run) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    outcomes[static_cast<std::size_t>(communicator.rank())] = run(communicator);
  });
  return outcomes;
}

template <Shard shard>
Outcome distributed(comm::ThreadCommunicator& communicator) {
  Cpu device;
  DistributedDataParallel<SmallModel, SmallLoss, shard, Averaging> strategy(
      device, communicator, small_objective(), optimizer, recipe, {2 * ops::block_size * 4, 4});
  return train_and_average<train::DeviceBatch>(strategy);
}

auto pipe_objective() { return small_pipe_objective<OneForwardOneBackward<2>, 2, true>(); }
using Stages = std::remove_cvref_t<decltype(pipe_objective().model())>;

template <Shard shard>
Outcome pipelined(comm::ThreadCommunicator& communicator) {
  Cpu device;
  PipelineParallel<Stages, PipeLoss<true>, shard, Averaging> strategy(
      device, communicator, pipe_objective(), optimizer, pipe_recipe);
  return train_and_average<WordsBatch>(strategy);
}

//! One device's.
struct OnOne {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss, Averaging> strategy{device, small_objective(),
                                                                  optimizer, recipe};
};

}  // namespace

TEST_CASE("the average stands in the parameters' place, and they come back") {
  OnOne one;
  const Outcome outcome = train_and_average<train::DeviceBatch>(one.strategy);
  CHECK(outcome.average != outcome.values);
  CHECK(outcome.restored == outcome.values);
  CHECK(outcome.loss_of_average != outcome.loss_before);

  OnOne without;
  for (std::uint32_t update = 0; update < 4; ++update) {
    static_cast<void>(
        without.strategy.step(train::DeviceBatch(random_translations(13, update)), 0.003));
  }
  const auto& state = without.strategy.state();
  auto average = to_host(state.average());
  const auto values = to_host(state.values());
  average.insert(average.end(), values.begin() + std::ssize(average), values.end());
  CHECK(outcome.average == average);
  CHECK(outcome.loss_before == loss_of<train::DeviceBatch>(without.strategy));
}

TEST_CASE("the average has the bits of one device under every strategy") {
  OnOne one;
  const Outcome outcome = train_and_average<train::DeviceBatch>(one.strategy);
  const DeviceGroup<Cpu> devices(2);
  DataParallel<SmallModel, SmallLoss, Averaging> two(devices, small_objective(), optimizer, recipe);
  CHECK(train_and_average<train::DeviceBatch>(two) == outcome);
  const std::vector<Outcome> three(3, outcome);
  CHECK(on_ranks(3, distributed<Zero<0>>) == three);
  CHECK(on_ranks(3, distributed<Zero<1>>) == three);
  CHECK(on_ranks(3, distributed<Zero<3>>) == three);
}

TEST_CASE("the average has the bits of one device in pipelines that share a weight") {
  Cpu device;
  GradientAccumulation<Stages, PipeLoss<true>, Averaging> one(device, pipe_objective(), optimizer,
                                                              pipe_recipe);
  const std::vector<Outcome> four(4, train_and_average<WordsBatch>(one));
  CHECK(on_ranks(4, pipelined<Zero<0>>) == four);
  CHECK(on_ranks(4, pipelined<Zero<1>>) == four);
}

TEST_CASE("a run goes on with its average under another strategy") {
  const TemporaryFolder folder;
  const std::string path = folder.path("state");
  OnOne one;
  const auto step = [](auto& strategy, std::uint32_t update) {
    static_cast<void>(strategy.step(train::DeviceBatch(random_translations(13, update)), 0.003));
  };
  step(one.strategy, 0);
  train::save_state(one.strategy, path, {});
  step(one.strategy, 1);
  std::vector<float> average;
  with_average(one.strategy, [&] { average = values_of(one.strategy); });
  std::vector<int> same(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<1>, Averaging> strategy(
        device, communicator, small_objective(), optimizer, recipe);
    train::load_state(strategy, path);
    step(strategy, 1);
    with_average(strategy, [&] {
      same[static_cast<std::size_t>(communicator.rank())] = values_of(strategy) == average ? 1 : 0;
    });
  });
  CHECK(same == std::vector<int>{1, 1});

  GradientAccumulation<SmallModel, SmallLoss> plain(one.device, small_objective(), optim::Adam(),
                                                    recipe);
  CHECK(message_of<FormatError>([&] { train::load_state(plain, path); })
            .ends_with(": was saved by an optimizer that keeps average, first_moment, "
                       "second_moment, this run's keeps first_moment, second_moment"));
}

TEST_CASE("inside another call the average is there already, and before an update there is none") {
  OnOne one;
  const auto begin = values_of(one.strategy);
  with_average(one.strategy, [&] { CHECK(values_of(one.strategy) == begin); });
  static_cast<void>(one.strategy.step(train::DeviceBatch(random_translations(13, 0)), 0.003));
  static_cast<void>(one.strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.003));
  const auto end = values_of(one.strategy);
  with_average(one.strategy, [&] {
    const auto average = values_of(one.strategy);
    with_average(one.strategy, [&] { CHECK(values_of(one.strategy) == average); });
    CHECK(values_of(one.strategy) == average);
    CHECK(average != end);
  });
  CHECK(values_of(one.strategy) == end);
}

TEST_CASE("what would take the average for the parameters is refused, and they come back") {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  OnOne one;
  auto& strategy = one.strategy;
  const auto batch = random_translations(13, 0);
  static_cast<void>(strategy.step(train::DeviceBatch(batch), 0.003));
  static_cast<void>(strategy.step(train::DeviceBatch(batch), 0.003));
  const auto end = values_of(strategy);
  const auto refused = [&](const auto& f) {
    return message_of<Error>([&] { with_average(strategy, f); });
  };
  const std::string why =
      ": inside with_average, where the parameters' moving average stands in their place: call it "
      "before or after";
  CHECK(refused([&] { static_cast<void>(strategy.step(train::DeviceBatch(batch), 0.003)); }) ==
        "step" + why);
  CHECK(refused([&] { train::save_state(strategy, path, {}); }) == "save_state" + why);
  CHECK(refused([&] { train::load_state(strategy, path); }) == "load_state" + why);
  CHECK(refused([&] { train::load_model(strategy, path); }) == "load_part" + why);
  CHECK(refused([] { throw Error("of its own"); }) == "of its own");
  CHECK(values_of(strategy) == end);
  CHECK(strategy.state().updates() == 2);

  with_average(strategy, [&] { train::save_model(strategy, path, {}); });
  std::vector<float> average;
  with_average(strategy, [&] { average = values_of(strategy); });
  train::load_model(strategy, path);
  CHECK(values_of(strategy) == average);
}

TEST_CASE("the average is not put where somebody holds all parameters") {
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>, Averaging> strategy(
        device, communicator, small_objective(), optimizer, recipe);
    static_cast<void>(strategy.step(train::DeviceBatch(random_translations(13, 0)), 0.003));
    {
      const auto whole = strategy.whole_values();
      const auto message = message_of<Error>([&] { with_average(strategy, [] {}); });
      if (!message.starts_with("share_values: what whole_values() returned still lives")) {
        throw Error(message);
      }
    }
    static_cast<void>(strategy.step(train::DeviceBatch(random_translations(13, 1)), 0.003));
  });
}

}  // namespace with_average_tests
