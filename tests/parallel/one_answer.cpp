// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/data_parallel.hpp>
#include <weft/parallel/gradient_accumulation.hpp>

#include <weft/optim/sgd.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "outcome.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace one_answer_tests {

using namespace weft;
using namespace weft::testing;

namespace {

using Single = GradientAccumulation<SmallModel, SmallLoss>;
using Parallel = DataParallel<SmallModel, SmallLoss>;

Outcome on_one_device(const parallel::Recipe& recipe, index_t chunk, int threads = 1,
                      int updates = 20) {
  Cpu device(threads);
  Single strategy(device, small_objective(chunk), optim::Adam(), recipe);
  return train_on_small_batches(strategy, updates);
}

Outcome on_devices(int devices, const parallel::Recipe& recipe, index_t chunk) {
  const DeviceGroup<Cpu> group(devices);
  Parallel strategy(group, small_objective(chunk), optim::Adam(), recipe);
  return train_on_small_batches(strategy);
}

constexpr parallel::Recipe recipe_of(index_t lanes) {
  return {.seed = 5, .lanes = lanes, .micro_batches = 8, .clip_norm = 1.0};
}

}  // namespace

TEST_CASE("any number of devices gives the bits of one that accumulates") {
  const auto lanes = GENERATE(as<index_t>(), 1, 2, 3, 8);
  const auto recipe = recipe_of(lanes);
  const auto expected = on_one_device(recipe, 5);
  REQUIRE(expected.skipped == 0);
  for (const int devices : {1, 2, 3, 4, 8}) {
    CAPTURE(lanes, devices);
    CHECK(on_devices(devices, recipe, 5) == expected);
  }
}

TEST_CASE("at every chunk size any number of devices gives the same bits") {
  const auto chunk = GENERATE(as<index_t>(), 1, 3, SmallLoss::whole);
  const auto expected = on_one_device(recipe_of(2), chunk);
  for (const int devices : {1, 2, 3, 4, 8}) {
    CAPTURE(chunk, devices);
    CHECK(on_devices(devices, recipe_of(2), chunk) == expected);
  }
}

TEST_CASE("a team of several threads gives the bits of one thread") {
  const auto expected = on_one_device(recipe_of(2), 5);
  CHECK(on_one_device(recipe_of(2), 5, 2) == expected);
  CHECK(on_one_device(recipe_of(2), 5, 3) == expected);
}

TEST_CASE("between chunk sizes and numbers of lanes only rounding differs") {
  const auto recipe = GENERATE(recipe_of(1), recipe_of(8));
  const auto chunk = GENERATE(as<index_t>(), 1, SmallLoss::whole);
  const auto reference = on_one_device(recipe_of(2), 5, 1, 1);
  const auto other = on_one_device(recipe, chunk, 1, 1);
  // The loss is a sum of some 100 row losses of about 4, whose rows of logits may round otherwise.
  // Each product of 24 terms of size below 1 has an error below 24 eps; so has each loss.
  const double eps = static_cast<double>(std::numeric_limits<float>::epsilon());
  CHECK(std::abs(other.losses[0] - reference.losses[0]) < 100 * 24 * eps * 4);
  // Adam's first step is rate * g / (|g| + epsilon): at most the rate, so two answers differ by at
  // most twice that where a gradient is all rounding, and hardly anywhere else.
  index_t apart = 0;
  for (std::size_t i = 0; i < reference.values.size(); ++i) {
    const float difference = std::abs(other.values[i] - reference.values[i]);
    CHECK(difference <= 2.01f * 0.002f);
    if (difference > 1e-5f) ++apart;
  }
  CHECK(apart < static_cast<index_t>(reference.values.size()) / 50);
}

TEST_CASE("another seed gives another answer") {
  auto recipe = recipe_of(1);
  const auto first = on_one_device(recipe, 5, 1, 2);
  recipe.seed = 6;
  CHECK_FALSE(on_one_device(recipe, 5, 1, 2) == first);
}

TEST_CASE("after the first steps nothing is asked of the system") {
  const DeviceGroup<Cpu> group(2);
  Parallel strategy(group, small_objective(), optim::Adam(), recipe_of(2));
  const auto requests = [&] {
    return group[0].memory().statistics().system_requests +
           group[1].memory().statistics().system_requests;
  };
  const auto large = random_translations(40, 1);
  (void)strategy.step(train::DeviceBatch(large), 0.001);
  const auto after_first = requests();
  for (std::uint32_t number = 2; number < 30; ++number) {
    const auto batch = random_translations(static_cast<index_t>(1 + number), number);
    (void)strategy.step(train::DeviceBatch(batch), 0.001);
  }
  CHECK(requests() == after_first);
}

TEST_CASE("more devices than sentences train on what there is") {
  const auto batch = random_translations(1, 3);
  const DeviceGroup<Cpu> group(4);
  const parallel::Recipe recipe{.lanes = 4, .micro_batches = 4};
  Parallel parallel(group, small_objective(), optim::Adam(), recipe);
  Cpu device;
  Single single(device, small_objective(), optim::Adam(), recipe);
  const auto a = parallel.step(train::DeviceBatch(batch), 0.01);
  const auto b = single.step(train::DeviceBatch(batch), 0.01);
  CHECK(a.loss.tokens.value() == batch.target_tokens());
  CHECK(a.loss.loss == b.loss.loss);
  CHECK(to_host(parallel.state().values()) == to_host(single.state().values()));
}

TEST_CASE("an empty batch changes nothing and is counted as skipped") {
  Cpu device;
  Single strategy(device, small_objective(), optim::Adam(), {});
  const auto before = to_host(strategy.state().values());
  const data::TranslationBatch nothing;
  const auto report = strategy.step(train::DeviceBatch(nothing), 0.01);
  CHECK(report.skipped);
  CHECK(report.loss.tokens.value() == 0);
  CHECK(strategy.state().skipped() == 1);
  CHECK(strategy.state().updates() == 0);
  CHECK(to_host(strategy.state().values()) == before);
}

TEST_CASE("a gradient that is not finite changes nothing and is counted as skipped") {
  const DeviceGroup<Cpu> group(2);
  Parallel strategy(group, small_objective(), optim::Adam(), recipe_of(2));
  const auto batch = random_translations(8, 1);
  (void)strategy.step(train::DeviceBatch(batch), 0.01);
  float& poisoned = strategy.state().values().data()[strategy.objective().layout().trained / 2];
  const float good = std::exchange(poisoned, std::numeric_limits<float>::infinity());
  const auto values = to_host(strategy.state().values());
  const auto moments = to_host(strategy.state().buffer(0));
  const auto report = strategy.step(train::DeviceBatch(batch), 0.01);
  CHECK(report.skipped);
  CHECK(strategy.state().skipped() == 1);
  CHECK(to_host(strategy.state().values()) == values);
  CHECK(to_host(strategy.state().buffer(0)) == moments);
  poisoned = good;
  CHECK_FALSE(strategy.step(train::DeviceBatch(batch), 0.01).skipped);
}

TEST_CASE("clipping bounds the change of plain descent by the rate times the norm") {
  using Descent = GradientAccumulation<SmallModel, SmallLoss, optim::Sgd>;
  const auto batch = random_translations(6, 2);
  const auto change = [&](double clip_norm) {
    Cpu device;
    parallel::Recipe recipe;
    recipe.clip_norm = clip_norm;
    Descent strategy(device, small_objective(), optim::Sgd(), recipe);
    const auto before = to_host(strategy.state().values());
    const auto report = strategy.step(train::DeviceBatch(batch), 1.0);
    const auto after = to_host(strategy.state().values());
    double squares = 0.0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      squares += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    }
    return std::pair(std::sqrt(squares), report.gradient_norm);
  };
  const auto [free_change, norm] = change(0.0);
  CHECK(free_change == Approx(norm).epsilon(1e-3));
  CHECK(change(norm / 2).first == Approx(norm / 2).epsilon(1e-3));
  CHECK(change(norm * 2).first == Approx(norm).epsilon(1e-3));
}

TEST_CASE("a recipe without lanes, or with fewer micro-batches than lanes, is refused") {
  Cpu device;
  CHECK_THROWS_AS(Single(device, small_objective(), optim::Adam(), {.lanes = 0}), ArgumentError);
  CHECK_THROWS_WITH(
      Single(device, small_objective(), optim::Adam(), {.lanes = 4, .micro_batches = 2}),
      Catch::Contains("4 lanes, 2 micro-batches"));
  CHECK_THROWS_AS(DeviceGroup<Cpu>(0), ArgumentError);
}

}  // namespace one_answer_tests
