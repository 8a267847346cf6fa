// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/optimizer.hpp>

#include <weft/device/cpu.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/optim/adam.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/gradient_accumulation.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "random_gradients.hpp"

namespace optimizer_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! A user's optimizer: every value goes one rate down, and a buffer counts how often.
struct Descent {
  struct Step {
    float rate;
  };
  static constexpr std::array<std::string_view, 1> state_names{"count"};

  [[nodiscard]] Step step(index_t, double rate, double) const { return {static_cast<float>(rate)}; }

  template <class D>
  static void update(D& device, const Step& step, optim::Part part, const float*, float* values,
                     const std::array<float*, 1>& state) {
    ops::for_blocks(device, part.parameters, part.begin, part.end,
                    [&](auto, index_t first, index_t count, index_t) {
                      for (index_t i = first; i < first + count; ++i) {
                        values[i] -= step.rate;
                        state[0][i] += 1.0f;
                      }
                    });
  }
};

static_assert(optim::Optimizer<Descent>);
static_assert(!optim::Optimizer<int>);
static_assert(!optim::Optimizer<optim::AdamSettings>);

//! The values after two updates, of which each part of the blocks is made on its own.
template <class Optimizer>
std::vector<float> updated(index_t n, const std::vector<Range>& parts) {
  Cpu device(2);
  const Optimizer optimizer;
  auto values = random_gradients(n, 0);
  std::vector<std::vector<float>> buffers(Optimizer::state_names.size(),
                                          std::vector<float>(static_cast<std::size_t>(n)));
  optim::StatePointers<Optimizer> state{};
  for (std::size_t i = 0; i < buffers.size(); ++i) state[i] = buffers[i].data();
  for (index_t t = 1; t <= 2; ++t) {
    const auto gradients = random_gradients(n, t);
    for (const Range part : parts) {
      Optimizer::update(device, optimizer.step(t, 0.1, 1.0), {n, part.begin, part.end},
                        gradients.data(), values.data(), state);
    }
  }
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("parts of an update make the whole, and each leaves the others alone", "",
                   optim::Adam, optim::AdamW, optim::Sgd, optim::SgdMomentum, Descent) {
  constexpr index_t n = 2 * ops::block_size + 77;
  const auto before = random_gradients(n, 0);
  const auto whole = updated<TestType>(n, {{0, 3}});
  CHECK(updated<TestType>(n, {{1, 3}, {0, 1}}) == whole);
  CHECK(updated<TestType>(n, {{2, 3}, {1, 2}, {0, 1}}) == whole);
  CHECK(updated<TestType>(n, {}) == before);

  auto expected = before;
  std::copy_n(whole.begin() + ops::block_size, ops::block_size, expected.begin() + ops::block_size);
  CHECK(updated<TestType>(n, {{1, 2}}) == expected);
  CHECK(std::ranges::mismatch(whole, before).in1 == whole.begin());
}

TEMPLATE_TEST_CASE("an update writes the new values rounded too, of its part", "", optim::Adam,
                   optim::AdamW, optim::Sgd, optim::SgdMomentum) {
  constexpr index_t n = ops::block_size + 77;
  Cpu device;
  const TestType optimizer;
  auto values = random_gradients(n, 0);
  std::vector<std::vector<float>> buffers(TestType::state_names.size(),
                                          std::vector<float>(static_cast<std::size_t>(n)));
  optim::StatePointers<TestType> state{};
  for (std::size_t i = 0; i < buffers.size(); ++i) state[i] = buffers[i].data();
  const Bfloat16 untouched(7.0f);
  std::vector<Bfloat16> rounded(static_cast<std::size_t>(n), untouched);
  TestType::update(device, optimizer.step(1, 0.1, 1.0), {n, 1, 2}, random_gradients(n, 1).data(),
                   values.data(), state, rounded.data());
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    const bool is_mine = i >= static_cast<std::size_t>(ops::block_size);
    CHECK(rounded[i].bits == (is_mine ? Bfloat16(values[i]) : untouched).bits);
  }
}

TEST_CASE("a strategy trains with any optimizer and keeps its buffers") {
  Cpu device;
  GradientAccumulation<SmallModel, SmallLoss, Descent> strategy(device, small_objective(),
                                                                Descent(), {});
  const auto trained = static_cast<std::size_t>(strategy.objective().layout().trained);
  const auto before = to_host(strategy.state().values());
  const auto batch = random_translations(3, 1);
  for (int update = 0; update < 3; ++update) {
    REQUIRE_FALSE(strategy.step(train::DeviceBatch(batch), 0.5).skipped);
  }
  const auto after = to_host(strategy.state().values());
  for (std::size_t i = 0; i < before.size(); ++i) {
    // What is computed once (the table of positions) is not trained.
    REQUIRE(after[i] == (i < trained ? before[i] - 0.5f - 0.5f - 0.5f : before[i]));
  }
  CHECK(strategy.state().buffer_name(0) == "count");
  CHECK(to_host(strategy.state().buffer(0)) == std::vector<float>(trained, 3.0f));
}

}  // namespace optimizer_tests
