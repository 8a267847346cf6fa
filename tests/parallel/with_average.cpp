// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/with_average.hpp>

#include <weft/comm/launch.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/moving_average.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/distributed_optimizer.hpp>
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
  outcome.loss_of_average = with_average(strategy, [&] {
    outcome.average = values_of(strategy);
    return loss_of<Batch>(strategy);
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
  const auto average_of = [](auto& strategy) {
    return with_average(strategy, [&] { return values_of(strategy); });
  };
  step(one.strategy, 0);
  step(one.strategy, 1);
  train::save_state(one.strategy, path, {});
  const auto saved = average_of(one.strategy);
  step(one.strategy, 2);
  const auto average = average_of(one.strategy);
  std::vector<int> same(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<2>, Averaging> strategy(
        device, communicator, small_objective(), optimizer, recipe);
    train::load_state(strategy, path);
    const bool begins_alike = average_of(strategy) == saved;
    step(strategy, 2);
    const bool goes_on_alike = average_of(strategy) == average;
    same[static_cast<std::size_t>(communicator.rank())] = begins_alike && goes_on_alike ? 1 : 0;
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
  CHECK(refused([&] { strategy.accumulate(train::DeviceBatch(batch)); }) == "accumulate" + why);
  CHECK(refused([&] { train::save_state(strategy, path, {}); }) == "save_state" + why);
  CHECK(refused([&] { train::load_state(strategy, path); }) == "load_state" + why);
  CHECK(refused([&] { train::load_model(strategy, path); }) == "load_part" + why);
  CHECK(refused([] { throw Error("of its own"); }) == "of its own");
  CHECK(values_of(strategy) == end);
  CHECK(strategy.state().updates() == 2);
}

TEST_CASE("an average that was saved as a model and loaded is the parameters and their average") {
  const TemporaryFolder folder;
  const std::string path = folder.path("model"), part = folder.path("part");
  const auto train_on = [](auto& strategy) {
    for (std::uint32_t update = 0; update < 3; ++update) {
      static_cast<void>(strategy.step(train::DeviceBatch(random_translations(13, update)), 0.003));
    }
  };
  OnOne one;
  auto& strategy = one.strategy;
  train_on(strategy);
  const auto values = values_of(strategy);
  const auto average = with_average(strategy, [&] {
    train::save_model(strategy, path, {});
    train::save_part(strategy, strategy.objective().model().encoder, part, {});
    return values_of(strategy);
  });
  train::load_part(strategy, strategy.objective().model().encoder, part);
  CHECK(values_of(strategy) != values);
  CHECK(values_of(strategy) != average);
  CHECK(with_average(strategy, [&] { return values_of(strategy); }) == average);
  train::load_model(strategy, path);
  CHECK(values_of(strategy) == average);

  OnOne untrained;
  train::save_model(untrained.strategy, path, {});
  const auto begin = values_of(untrained.strategy);
  std::vector<int> same(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, Zero<3>, Averaging> ranks(
        device, communicator, small_objective(), optimizer, recipe);
    train_on(ranks);
    train::load_model(ranks, path);
    const bool is_loaded = with_average(ranks, [&] { return values_of(ranks); }) == begin;
    same[static_cast<std::size_t>(communicator.rank())] = is_loaded ? 1 : 0;
  });
  CHECK(same == std::vector<int>{1, 1});
}

TEST_CASE(
    "what one rank throws while it reads the average ends all, and their parameters are back") {
  std::vector<int> back(3);
  const auto message = message_of<Error>([&] {
    comm::launch_threads(3, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
      Cpu device;
      DistributedDataParallel<SmallModel, SmallLoss, Zero<1>, Averaging> strategy(
          device, communicator, small_objective(), optimizer, recipe);
      for (std::uint32_t update = 0; update < 2; ++update) {
        const auto batch = random_translations(13, update);
        static_cast<void>(strategy.step(train::DeviceBatch(batch), 0.003));
      }
      const auto values = values_of(strategy);
      const auto check = [&] {
        const bool is_back = to_host(strategy.state().values()) == values;
        back[static_cast<std::size_t>(communicator.rank())] = is_back ? 1 : 0;
      };
      try {
        with_average(strategy, [&] {
          if (communicator.rank() == 1) throw Error("of its own");
          return loss_of<train::DeviceBatch>(strategy);
        });
      } catch (...) {
        check();
        throw;
      }
    });
  });
  CHECK(message.find("of its own") != std::string::npos);
  CHECK(back == std::vector<int>{1, 1, 1});
}

TEST_CASE("an optimizer of ranks keeps an average too") {
  std::vector<int> right(2);
  comm::launch_threads(2, comm::Timeout(60.0), [&](comm::ThreadCommunicator& communicator) {
    Cpu device;
    const std::vector<float> begin{1.0f, 2.0f, 3.0f};
    DistributedOptimizer<optim::MovingAverage<optim::Sgd>> train(
        device, communicator, optim::MovingAverage(optim::Sgd(), 0.5), begin);
    for (int update = 0; update < 2; ++update) {
      std::vector<float> gradients(3, 1.0f);
      static_cast<void>(train.step(gradients, {Sum<of::Loss>(), Count<of::Tokens>(1)}, 1.0));
    }
    // 0, 1, 2 and -1, 0, 1: a third of the first, two thirds of the second.
    const auto first = with_average(train, [&] { return train.values()[0]; });
    const bool is_average = first == Approx(-2.0 / 3.0);
    const bool is_back = train.values()[0] == -1.0f;
    right[static_cast<std::size_t>(communicator.rank())] = is_average && is_back ? 1 : 0;
  });
  CHECK(right == std::vector<int>{1, 1});
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
