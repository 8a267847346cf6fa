// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/context.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <vector>

namespace context_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

//! Three vectors in a row, the first two of one shape, and a place of dropout.
struct Three {
  Parameter a{.shape = {2}}, b{.shape = {2}}, c{.shape = {3}};
  DropoutSite site{0.5f};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("a", self.a);
    visit("b", self.b);
    visit("c", self.c);
    visit("site", self.site);
  }
};

//! Hands a gradient of equal numbers to the context, as a module does.
void contribute(Context<Cpu>& ctx, const Parameter& p, float value) {
  ctx.gradient(p, [value](View<float> gradient, ops::Write write) {
    for (index_t i = 0; i < gradient.size(); ++i) {
      gradient.data[i] = write == ops::Write::accumulate ? gradient.data[i] + value : value;
    }
  });
}

}  // namespace

TEST_CASE("the first gradient of an update replaces what is there, later ones add to it") {
  Cpu device;
  Placed three(device, Three());
  std::fill_n(three.gradients.data(), 7, std::numeric_limits<float>::quiet_NaN());
  auto ctx = three.training(device);
  contribute(ctx, three.module.b, 2.0f);
  contribute(ctx, three.module.b, 3.0f);
  contribute(ctx, three.module.a, 1.0f);
  CHECK(three.total_gradients() == std::vector<float>{1, 1, 5, 5, 0, 0, 0});

  three.gradients.begin();
  contribute(ctx, three.module.b, 7.0f);
  CHECK(three.total_gradients() == std::vector<float>{0, 0, 7, 7, 0, 0, 0});
}

TEST_CASE("the gradient of joined parameters is that of each") {
  Cpu device;
  Placed three(device, Three());
  auto ctx = three.training(device);
  contribute(ctx, joined(three.module.a, 2), 1.0f);
  contribute(ctx, joined(three.module.a, 2), 2.0f);
  contribute(ctx, three.module.c, 4.0f);
  CHECK(three.total_gradients() == std::vector<float>{3, 3, 3, 3, 4, 4, 4});
}

TEST_CASE("of each place of a gradient is heard once, when nothing more is added to it") {
  Cpu device;
  Placed three(device, Three());
  auto ctx = three.training(device);
  const auto& [a, b, c, site] = three.module;
  std::vector<int> ready;
  contribute(ctx, b, 1.0f);  // in a pass before the last
  three.gradients.watch([&](int slot) { ready.push_back(slot); });
  ctx.hold_gradients();
  contribute(ctx, c, 1.0f);
  contribute(ctx, c, 1.0f);
  CHECK(ready.empty());
  ctx.release_gradients();
  CHECK(ready == std::vector<int>{2});
  contribute(ctx, b, 1.0f);
  CHECK(ready == std::vector<int>{2, 1});
  CHECK_THROWS_WITH(contribute(ctx, b, 1.0f), Catch::Contains("place 1 is added to twice"));
  CHECK(three.total_gradients() == std::vector<float>{0, 0, 2, 2, 2, 2, 2});
  CHECK(ready == std::vector<int>{2, 1, 0});
}

TEST_CASE("a context knows values, and drops nothing in evaluation") {
  Cpu device;
  Placed three(device, Three());
  three.values = {0, 1, 2, 3, 4, 5, 6};
  const auto training = three.training(device);
  const auto evaluation = three.evaluation(device);
  CHECK(training.value(three.module.c).data[1] == 5.0f);
  CHECK(training.value(three.module.c).shape == Shape{3});
  CHECK(training.training());
  CHECK(training.mask(three.module.site).active());
  CHECK_FALSE(evaluation.training());
  CHECK_FALSE(evaluation.mask(three.module.site).active());
}

TEST_CASE("a parameter that members() forgot is refused instead of read from somewhere") {
  Cpu device;
  Placed three(device, Three());
  const auto ctx = three.training(device);
  const Parameter forgotten{.shape = {5, 2}};
  CHECK(message_of<Error>([&] { (void)ctx.value(forgotten); }) ==
        "a parameter of shape (5, 2) has no place in the buffers: its module's members() must show "
        "it, and the model must be placed, as Objective and nn::place_trained do");
  CHECK_NOTHROW(ctx.value(three.module.a));
}

TEST_CASE("products read weights that were rounded all at once, where the device rounds") {
  Cpu device;
  Placed three(device, Three());
  three.values = {1, 2, 3, 4, 5, 6, 7};
  auto ctx = three.evaluation(device);
  CHECK(ctx.factor(three.module.b).numbers.data == ctx.value(three.module.b).data);
  ctx.round_weights(three.layout);
  CHECK(ctx.factor(three.module.b).numbers.data == ctx.value(three.module.b).data);
  for (const auto& [precision, type] : {std::pair(ProductPrecision::bfloat16, FloatType::bfloat16),
                                        std::pair(ProductPrecision::float16, FloatType::float16)}) {
    device.set_product_precision(precision);
    ctx.round_weights(three.layout);
    const ops::FactorView c = ctx.factor(three.module.c);
    CHECK(c.numbers.type == type);
    CHECK(c.shape == Shape{3});
    std::vector<float> read;
    c.numbers.read([&](const auto* numbers) {
      for (int i = 0; i < 3; ++i) read.push_back(static_cast<float>(numbers[i]));
    });
    CHECK(read == std::vector<float>{5, 6, 7});
  }
}

}  // namespace context_tests
