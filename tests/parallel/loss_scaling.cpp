// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/loss_scale.hpp>

#include <weft/comm/launch.hpp>
#include <weft/nn/linear.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/distributed_data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>
#include <weft/parallel/training_state.hpp>
#include <weft/testing/far_device.hpp>

#include "../message_of.hpp"
#include "outcome.hpp"
#include "small_pipes.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace loss_scaling_tests {

using namespace weft;
using namespace weft::testing;
using comm::ThreadCommunicator;
using optim::LossScaling;
using parallel::Recipe;
using parallel::Shard;

namespace {

constexpr comm::Timeout patience{60.0};
constexpr parallel::BucketSizes small_buckets{2 * ops::block_size * 4, 4};

//! With a scale that changes after every third update, or without one.
Recipe recipe_of(index_t lanes, bool scaled, double initial = 65536.0) {
  Recipe recipe{.seed = 5, .lanes = lanes, .micro_batches = 8, .clip_norm = 1.0};
  if (scaled) recipe.loss_scaling = LossScaling{.initial = initial, .growth_interval = 3};
  return recipe;
}

//! What a short training leaves, and the scale it ends with.
struct Scaled {
  Outcome outcome;
  double scale = 0.0;

  friend bool operator==(const Scaled&, const Scaled&) = default;
};

template <class Strategy>
Scaled trained(Strategy& strategy, ProductPrecision precision) {
  strategy.on_devices([&](auto& device, int) {
    if constexpr (requires { device.set_product_precision(precision); }) {
      device.set_product_precision(precision);
    }
  });
  auto outcome = train_on_small_batches(strategy, 10);
  for (double& norm : outcome.norms) {
    if (!std::isfinite(norm)) norm = -1.0;  // NaN would differ from itself
  }
  return {std::move(outcome), strategy.state().loss_scale().value()};
}

template <class D = Cpu>
Scaled on_one_device(const Recipe& recipe, ProductPrecision precision = ProductPrecision::float32) {
  D device;
  GradientAccumulation<SmallModel, SmallLoss, optim::Adam, D> strategy(device, small_objective(),
                                                                       optim::Adam(), recipe);
  return trained(strategy, precision);
}

Scaled on_devices(int devices, const Recipe& recipe,
                  ProductPrecision precision = ProductPrecision::float32) {
  const DeviceGroup<Cpu> group(devices);
  DataParallel<SmallModel, SmallLoss> strategy(group, small_objective(), optim::Adam(), recipe);
  return trained(strategy, precision);
}

template <Shard shard>
std::vector<Scaled> on_ranks(int ranks, const Recipe& recipe,
                             ProductPrecision precision = ProductPrecision::float32) {
  std::vector<Scaled> outcomes(static_cast<std::size_t>(ranks));
  comm::launch_threads(ranks, patience, [&](ThreadCommunicator& communicator) {
    Cpu device;
    DistributedDataParallel<SmallModel, SmallLoss, shard> strategy(
        device, communicator, small_objective(), optim::Adam(), recipe, small_buckets);
    outcomes[static_cast<std::size_t>(communicator.rank())] = trained(strategy, precision);
  });
  return outcomes;
}

//! Calls `check(what every rank ends with)` for each stage of ZeRO.
template <class Check>
void for_zero(int ranks, const Recipe& recipe, ProductPrecision precision, const Check& check) {
  check(on_ranks<Zero<0>>(ranks, recipe, precision));
  check(on_ranks<Zero<1>>(ranks, recipe, precision));
  check(on_ranks<Zero<2>>(ranks, recipe, precision));
  check(on_ranks<Zero<3>>(ranks, recipe, precision));
}

//! Two stages that share a weight.
const auto pipe_objective = small_pipe_objective<OneForwardOneBackward<4>, 2, true>;
using PipeModel = std::remove_cvref_t<decltype(pipe_objective().model())>;

//! The values and norms of seven updates.
template <class Strategy>
std::vector<double> words_learnt(Strategy& strategy) {
  std::vector<double> learnt;
  for (std::uint32_t update = 0; update < 7; ++update) {
    const auto report = strategy.step(WordsBatch(random_translations(13, update)), 0.002);
    learnt.push_back(report.gradient_norm);
  }
  [[maybe_unused]] const auto whole = strategy.whole_values();
  for (const float value : to_host(strategy.state().values())) {
    learnt.push_back(static_cast<double>(value));
  }
  return learnt;
}

Recipe pipe_recipe(index_t replicas, bool scaled) {
  auto recipe = recipe_of(replicas, scaled);
  recipe.micro_batches = 4 * replicas;
  return recipe;
}

}  // namespace

TEST_CASE("losses that are scaled change no bit of floats, under any strategy") {
  for (const index_t lanes : {1, 3}) {
    const Outcome expected = on_one_device(recipe_of(lanes, false)).outcome;
    const auto scaled = recipe_of(lanes, true);
    const Scaled should{expected, 65536.0 * 8};  // three times three updates
    CHECK(on_one_device(scaled) == should);
    CHECK(on_one_device<FarDevice>(scaled) == should);  // which finds the factor itself
    CHECK(on_devices(2, scaled) == should);
    for_zero(3, scaled, ProductPrecision::float32, [&](const auto& ranks) {
      for (const Scaled& rank : ranks) CHECK(rank == should);
    });
  }
}

TEST_CASE("gradients that are accumulated are scaled alike") {
  const auto learnt = [](bool scaled) {
    Cpu device;
    GradientAccumulation<SmallModel, SmallLoss> strategy(device, small_objective(), optim::Adam(),
                                                         recipe_of(2, scaled));
    for (std::uint32_t update = 0; update < 5; ++update) {
      strategy.accumulate(train::DeviceBatch(random_translations(13, 2 * update)));
      (void)strategy.step(train::DeviceBatch(random_translations(5, 2 * update + 1)), 0.002);
    }
    return to_host(strategy.state().values());
  };
  CHECK(learnt(true) == learnt(false));
}

TEST_CASE("losses that are scaled change no bit of floats in a pipeline") {
  for (const int replicas : {1, 2}) {
    std::vector<double> expected;
    {
      Cpu device;
      GradientAccumulation<PipeModel, PipeLoss<true>> strategy(
          device, pipe_objective(), optim::Adam(), pipe_recipe(replicas, false));
      expected = words_learnt(strategy);
    }
    for (const auto& table : {parallel::table_of<OneForwardOneBackward<4>, 2>.view(),
                              parallel::table_of<ZeroBubble<4>, 2>.view()}) {
      std::vector<std::vector<double>> learnt(static_cast<std::size_t>(2 * replicas));
      std::vector<double> scales(learnt.size());
      comm::launch_threads(2 * replicas, patience, [&](ThreadCommunicator& communicator) {
        Cpu device;
        PipelineParallel<PipeModel, PipeLoss<true>, Zero<1>> strategy(
            device, communicator, pipe_objective(), optim::Adam(), pipe_recipe(replicas, true),
            table);
        const auto rank = static_cast<std::size_t>(communicator.rank());
        learnt[rank] = words_learnt(strategy);
        scales[rank] = strategy.state().loss_scale().value();
      });
      for (const auto& rank : learnt) CHECK(rank == expected);
      for (const double scale : scales) CHECK(scale == 65536.0 * 4);
    }
  }
}

TEST_CASE("with products of float16, ranks that skip updates and halve the scale agree") {
  // So large that the first gradients are infinite.
  const auto recipe = recipe_of(3, true, 0x1p20);
  const Scaled expected = on_one_device(recipe, ProductPrecision::float16);
  CHECK(expected.outcome.skipped > 1);
  CHECK(expected.outcome.skipped < 8);
  CHECK(on_devices(2, recipe, ProductPrecision::float16) == expected);
  for_zero(2, recipe, ProductPrecision::float16, [&](const auto& ranks) {
    for (const Scaled& rank : ranks) CHECK(rank == expected);
  });
}

TEST_CASE("an overflow halves the scale, and leaves parameters and moments as they were") {
  Cpu device;
  device.set_product_precision(ProductPrecision::float16);
  GradientAccumulation<SmallModel, SmallLoss> strategy(device, small_objective(), optim::Adam(),
                                                       recipe_of(2, true, 0x1p20));
  const auto batch = random_translations(13, 1);
  const auto values = to_host(strategy.state().values());
  const auto moments = to_host(strategy.state().buffer(0));
  double scale = 0x1p20;
  while (strategy.step(train::DeviceBatch(batch), 0.002).skipped) {
    scale /= 2;
    REQUIRE(scale > 1.0);
    CHECK(strategy.state().loss_scale().value() == scale);
    CHECK(to_host(strategy.state().values()) == values);
    CHECK(to_host(strategy.state().buffer(0)) == moments);
  }
  CHECK(scale < 0x1p20);
  CHECK(strategy.state().loss_scale().value() == scale);
  CHECK_FALSE(to_host(strategy.state().values()) == values);
}

TEST_CASE("a batch without a label leaves the scale as it is") {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss> strategy(device, small_objective(), optim::Adam(),
                                                       recipe_of(1, true));
  const data::TranslationBatch nothing;
  CHECK(strategy.step(train::DeviceBatch(nothing), 0.1).skipped);
  CHECK(strategy.state().loss_scale().value() == 65536.0);
  CHECK(strategy.state().loss_scale().good_updates() == 0);
}

namespace {

using Layer = nn::Linear<pipe_channels, pipe_channels>;
using Layers = nn::Sequential<PipeEmbedding, Layer, Layer>;

//! What an update at rate 1 takes from the first layer's weights, where those of all layers are so
//! small that the gradient is less than Float16 can say when it arrives there.
std::vector<double> learnt_by_first_layer(ProductPrecision precision,
                                          std::optional<LossScaling> scaling) {
  using Loss = PipeLoss<false>;
  Cpu device;
  device.set_product_precision(precision);
  GradientAccumulation<Layers, Loss, optim::Sgd> strategy(
      device,
      parallel::Objective<Layers, Loss>(
          Layers(PipeEmbedding(small_vocabulary, 24, 0.0f), Layer(), Layer()),
          nn::LabelSmoothing(0.1f), 5),
      optim::Sgd(), {.seed = 5, .loss_scaling = scaling});
  float* const values = strategy.state().values().data();
  const auto parameters = nn::named_parameters(strategy.objective());
  Range first;
  for (const auto& [name, p] : parameters) {
    if (!name.ends_with("weight") || p.shape.columns() != pipe_channels) continue;
    if (name.starts_with("0.")) continue;  // words
    if (name.starts_with("1.")) first = {p.value_offset, p.value_offset + p.size()};
    for (index_t i = 0; i < p.size(); ++i) values[p.value_offset + i] *= 0x1p-13f;
  }
  REQUIRE(first.size() == pipe_channels * pipe_channels);
  const std::vector<float> before(values + first.begin, values + first.end);
  const auto report = strategy.step(WordsBatch(random_translations(5, 1)), 1.0);
  REQUIRE_FALSE(report.skipped);
  std::vector<double> learnt;
  for (index_t i = first.begin; i < first.end; ++i) {
    learnt.push_back(static_cast<double>(before[static_cast<std::size_t>(i - first.begin)]) -
                     static_cast<double>(values[i]));
  }
  return learnt;
}

double norm(const std::vector<double>& x) {
  double squares = 0.0;
  for (const double element : x) squares += element * element;
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("a gradient that vanishes in float16 does not if the loss is scaled") {
  const auto should = learnt_by_first_layer(ProductPrecision::float32, std::nullopt);
  const auto vanished = learnt_by_first_layer(ProductPrecision::float16, std::nullopt);
  auto scaled = learnt_by_first_layer(ProductPrecision::float16, LossScaling{});
  CHECK(norm(should) > 0.0);
  CHECK(norm(vanished) == 0.0);
  for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] -= should[i];
  // Three products of rounded factors, each off by up to 2^-11 of itself; the first layers' weights
  // of 2^-15 are multiples of 2^-24.
  CHECK(norm(scaled) < 0x1p-7 * norm(should));
}

namespace {

//! A loss that knows nothing of scales.
struct PlainLoss : PipeLoss<false> {
  using Base = PipeLoss<false>;
  using Base::Base;
  static constexpr bool scales_gradients = false;
};

}  // namespace

TEST_CASE("a recipe whose losses cannot be scaled is refused") {
  Cpu device;
  const auto message = [&](auto objective, const Recipe& recipe) {
    using Objective = decltype(objective);
    using Model = std::remove_cvref_t<decltype(objective.model())>;
    using Loss = std::remove_cvref_t<decltype(objective.loss())>;
    return message_of<ArgumentError>([&] {
      GradientAccumulation<Model, Loss> strategy(device, Objective(objective), optim::Adam(),
                                                 recipe);
      return strategy.devices();
    });
  };
  CHECK(message(small_objective(), recipe_of(1, true, 3.0)) ==
        "loss scaling: 3 at first, doubled after 3 updates; needs a power of two from 2^-32 to "
        "2^32, and an update");
  const parallel::Objective<Layers, PlainLoss> plain(
      Layers(PipeEmbedding(small_vocabulary, 24, 0.0f), Layer(), Layer()), nn::LabelSmoothing(0.1f),
      5);
  CHECK(message(plain, recipe_of(1, false)) == "(no error)");
  CHECK(message(plain, recipe_of(1, true)) ==
        "recipe: loss_scaling needs a loss that multiplies its gradients by the context's "
        "loss_scale(), and says so: static constexpr bool scales_gradients = true");
}

TEST_CASE("a strategy that ignores the recipe's loss scaling is told so") {
  Cpu device;
  const auto objective = small_objective();
  const auto& layout = objective.layout();
  const std::vector<float> values(static_cast<std::size_t>(layout.values), 0.5f);
  std::vector<float> gradients(static_cast<std::size_t>(layout.gradients), 1.0f);
  const auto on_all = [&](const auto& f) { f(device, 0, 1); };
  const parallel::LossSum loss{Sum<of::Loss>(1.0), Count<of::Tokens>(1)};
  const auto message = [&](const optim::LossScale& scale, bool scaled) {
    parallel::TrainingState<optim::Sgd, Cpu> state(device, layout, values, optim::Sgd(), scale);
    const auto recipe = recipe_of(1, scaled);
    const auto said = message_of<ArgumentError>(
        [&] { return state.update(on_all, recipe, {gradients.data()}, loss, 0.1).skipped; });
    const bool untouched = state.updates() == 0 && state.skipped() == 0 &&
                           std::equal(values.begin(), values.end(), state.values().data());
    CHECK(untouched == (said != "(no error)"));
    CHECK(said == message_of<ArgumentError>([&] {
            return state.apply(on_all, recipe, gradients.data(), 1.0, loss, 0.1).skipped;
          }));
    return said;
  };
  CHECK(message({}, true) ==
        "recipe: loss_scaling (65536 at first, doubled after 3 updates) is not kept by this "
        "strategy: it must make its TrainingState with loss_scale_of<Loss>(recipe) and run lanes "
        "with the state's loss_scale()");
  CHECK(message({}, false) == "(no error)");
  CHECK(message(optim::LossScale(LossScaling{}), true) == "(no error)");
}

TEST_CASE("ranks that scale their losses otherwise are told so") {
  std::vector<std::string> said(2);
  comm::launch_threads(2, patience, [&](ThreadCommunicator& communicator) {
    const int rank = communicator.rank();
    said[static_cast<std::size_t>(rank)] = message_of<comm::RanksDiffer>([&] {
      Cpu device;
      DistributedDataParallel<SmallModel, SmallLoss> strategy(
          device, communicator, small_objective(), optim::Adam(), recipe_of(2, rank == 1));
      return strategy.rank();
    });
  });
  for (const auto& message : said) CHECK_THAT(message, Catch::Contains("loss_scaling"));
}

}  // namespace loss_scaling_tests
