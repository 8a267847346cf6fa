// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/moving_average.hpp>

#include <weft/device/cpu.hpp>
#include <weft/nn/parameter_groups.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/updates.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "../message_of.hpp"

namespace moving_average_tests {

using namespace weft;
using namespace weft::testing;
using optim::MovingAverage;

namespace {

constexpr parallel::Recipe recipe{.seed = 5, .lanes = 2, .micro_batches = 4, .clip_norm = 1.0};

//! Vectors are not to decay.
auto objective_in_groups() {
  auto objective = small_objective();
  nn::decay_matrices_only(objective);
  return objective;
}

//! A user's optimizer, which rounds nothing and has no settings.
struct Descent {
  struct Step {
    float rate;
  };
  static constexpr std::array<std::string_view, 0> state_names{};

  [[nodiscard]] Step step(index_t, double rate, double) const { return {static_cast<float>(rate)}; }

  template <class D>
  static void update(D& device, const Step& step, optim::Part part, const float*, float* values,
                     const std::array<float*, 0>&) {
    ops::for_blocks(device, part.parameters, part.begin, part.end,
                    [&](auto, index_t first, index_t count, index_t) {
                      for (index_t i = first; i < first + count; ++i) values[i] -= step.rate;
                    });
  }
};

static_assert(optim::Optimizer<MovingAverage<optim::Adam>>);
static_assert(optim::Optimizer<MovingAverage<Descent>>);
static_assert(optim::KeepsAverage<MovingAverage<optim::Sgd>>);
static_assert(!optim::KeepsAverage<optim::Adam>);
static_assert(MovingAverage<optim::Adam>::state_names ==
              std::array<std::string_view, 3>{"first_moment", "second_moment", "average"});

}  // namespace

TEST_CASE("an average comes so much nearer to the values, in the blocks that are asked for") {
  constexpr index_t n = 2 * ops::block_size + 21;
  Cpu device;
  const auto values = random_values(n, 1), before = random_values(n, 2);
  for (const float share : {1e-4f, 0.3f, 0.7f, 1.0f}) {
    CAPTURE(share);
    auto averages = before;
    ops::average_update(device, share, nullptr, n, 1, ops::block_count(n), values.data(),
                        averages.data());
    for (std::size_t i = 0; i < averages.size(); ++i) {
      if (i < static_cast<std::size_t>(ops::block_size)) {
        REQUIRE(averages[i] == before[i]);
        continue;
      }
      // Three roundings, of at most the sum of both sizes.
      const double from = static_cast<double>(before[i]), to = static_cast<double>(values[i]);
      const double bound = 3 * 0x1p-24 * (std::abs(from) + std::abs(to));
      const double should = from + static_cast<double>(share) * (to - from);
      REQUIRE(std::abs(static_cast<double>(averages[i]) - should) <= bound);
      if (share == 1.0f) REQUIRE(averages[i] == values[i]);
    }
  }
}

TEST_CASE("an average stays as it is where a device finds that nothing is to be changed") {
  constexpr index_t n = 100;
  Cpu device;
  const auto values = random_values(n, 1), before = random_values(n, 2);
  const float nothing = 0.0f, something = 2.0f;
  auto averages = before;
  ops::average_update(device, 0.5f, &nothing, n, 0, 1, values.data(), averages.data());
  CHECK(averages == before);
  ops::average_update(device, 0.5f, &something, n, 0, 1, values.data(), averages.data());
  CHECK(averages != before);
}

TEST_CASE(
    "the average is that of the values after each update, by its weights; they train as ever") {
  constexpr double decay = 0.75;
  Cpu device;
  const optim::AdamW adam({.weight_decay = 0.1});
  const auto objective = objective_in_groups();
  GradientAccumulation plain(device, objective, adam, recipe);
  GradientAccumulation averaged(device, objective, MovingAverage(adam, decay), recipe);
  std::vector<double> sum(static_cast<std::size_t>(objective.layout().trained));
  double weights = 0.0;
  for (std::uint32_t update = 0; update < 6; ++update) {
    const auto batch = random_translations(7, update);
    static_cast<void>(plain.step(train::DeviceBatch(batch), 0.003));
    static_cast<void>(averaged.step(train::DeviceBatch(batch), 0.003));
    const auto values = to_host(averaged.state().values());
    REQUIRE(values == to_host(plain.state().values()));
    weights = weights * decay + 1.0;
    const auto average = to_host(averaged.state().average());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = sum[i] * decay + static_cast<double>(values[i]);
      // Each update rounds thrice, at most twice a value that Adam has moved by 0.02.
      const double bound = 18 * 0x1p-24 * 2 * (std::abs(static_cast<double>(values[i])) + 0.02);
      REQUIRE(std::abs(static_cast<double>(average[i]) - sum[i] / weights) <= bound);
    }
  }
}

TEST_CASE("an optimizer of one's own is averaged too, and an update that is left out is not") {
  Cpu device;
  GradientAccumulation train(device, small_objective(), MovingAverage(Descent(), 0.5), recipe);
  const auto batch = random_translations(7, 1);
  const auto step = [&] { return train.step(train::DeviceBatch(batch), 0.25); };
  static_cast<void>(step());
  const auto first = to_host(train.state().average());
  const float before = train.state().values().data()[0];
  CHECK(first[0] == before);
  static_cast<void>(step());
  const float share = static_cast<float>(0.5 / 0.75);  // of the second
  CHECK(train.state().average().data()[0] ==
        Approx(before + share * (train.state().values().data()[0] - before)));
  const auto second = to_host(train.state().average());
  train.state().values().data()[0] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(step().skipped);
  CHECK(to_host(train.state().average()) == second);
}

TEST_CASE("the settings of an average are checked, and say what they are") {
  for (const double decay : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(decay);
    CHECK(message_of<ArgumentError>([&] {
            static_cast<void>(MovingAverage(optim::Adam(), decay));
          }) == text("moving average: a decay of ", decay, ", needs 0 <= decay < 1"));
  }
  const MovingAverage<optim::SgdMomentum> optimizer(optim::SgdMomentum({.momentum = 0.9}), 0.0);
  CHECK(to_text(optimizer.settings()) ==
        "SGD: momentum 0.9, weight_decay 0, nesterov false; moving average: decay 0");
  CHECK(to_text(MovingAverage(Descent()).settings()) == "moving average: decay 0.999");
  CHECK(optim::with_scaled_decay(MovingAverage(optim::AdamW({.weight_decay = 0.5})), 0.5)
            .settings()
            .rule.settings()
            .weight_decay == 0.25);
  CHECK_THROWS_AS(optim::with_scaled_decay(MovingAverage(Descent()), 0.5), ArgumentError);
}

}  // namespace moving_average_tests
