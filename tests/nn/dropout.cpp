// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/dropout.hpp>

#include <weft/nn/sequential.hpp>
#include <weft/testing/difference.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace dropout_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr index_t C = 100;

Rows<C> ones(Cpu& device, const std::vector<index_t>& lengths, std::uint32_t first_id = 0) {
  const auto layout = make_layout(device, std::span<const index_t>(lengths), first_id);
  const std::vector<float> values(static_cast<std::size_t>(layout->rows() * C), 1.0f);
  return {to_device<float>(device, values, {layout->rows(), C}), layout};
}

}  // namespace

TEST_CASE("dropout drops the share that it was asked to, and scales up the rest") {
  Cpu device;
  Placed placed(device, Dropout<C>(0.25f));
  auto ctx = placed.training(device);
  const auto y = to_host(placed.module.forward(ctx, ones(device, {300, 100})).output.values);
  const auto dropped = std::ranges::count(y, 0.0f);
  CHECK(std::ranges::all_of(y, [](float v) { return v == 0.0f || v == 1.0f / 0.75f; }));
  // 40,000 coins: five standard deviations are 433.
  CHECK(std::abs(dropped - 10000) < 433);
}

TEST_CASE("the gradient of dropout passes where the elements passed") {
  Cpu device;
  Placed placed(device, Dropout<C>(0.5f));
  const auto x = ones(device, {30, 7});
  auto ctx = placed.training(device);
  auto [y, saved] = placed.module.forward(ctx, x);
  const auto dx = placed.module.backward(ctx, std::move(saved), x);
  CHECK(bit_difference(dx.values, y.values) == "");
}

TEST_CASE("in evaluation dropout hands on its input") {
  Cpu device;
  const Placed placed(device, Dropout<C>(0.5f));
  const auto x = ones(device, {3});
  auto ctx = placed.evaluation(device);
  CHECK(placed.module.forward(ctx, x).output.values.data() == x.values.data());
}

TEST_CASE("what dropout drops depends on the sequence and its step, not on the batch") {
  Cpu device;
  Placed placed(device, Dropout<C>(0.5f));
  auto ctx = placed.training(device);
  const auto both = placed.module.forward(ctx, ones(device, {4, 6})).output.values;
  const auto second = placed.module.forward(ctx, ones(device, {6}, 1)).output.values;
  CHECK(bit_difference(both.slice(4, 10), second) == "");

  placed.key = RandomKey(5, 7);
  auto next_step = placed.training(device);
  CHECK(bit_difference(placed.module.forward(next_step, ones(device, {6}, 1)).output.values,
                       second) != "");
}

TEST_CASE("two places of dropout drop different elements") {
  Cpu device;
  Placed placed(device, Sequential<Dropout<C>, Dropout<C>>(Dropout<C>(0.5f), Dropout<C>(0.5f)));
  auto ctx = placed.training(device);
  const auto x = ones(device, {100});
  const auto y = to_host(placed.module.forward(ctx, x).output.values);
  // A quarter passes both; a half would if they were the same. Five deviations of 10,000: 217.
  const auto passed = std::ranges::count(y, 4.0f);
  CHECK(std::abs(passed - 2500) < 217);
}

TEST_CASE("a probability that is none is refused") {
  Cpu device;
  for (const float probability : {-0.1f, 1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    const auto message = message_of<ArgumentError>(
        [&] { return Placed(device, Dropout<C>(probability)).values.size(); });
    CHECK(message.starts_with("dropout: a probability of "));
  }
}

}  // namespace dropout_tests
