// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/context.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"
#include "three_vectors.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace context_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

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
        "it, and the model must be placed, as Objective does, or nn::place_trained and then "
        "nn::place_others");
  CHECK_NOTHROW(ctx.value(three.module.a));
}

TEST_CASE("so is a place of dropout, which would have the masks of another") {
  Cpu device;
  Placed three(device, Three());
  const auto ctx = three.training(device);
  CHECK(message_of<Error>([&] { (void)ctx.mask(DropoutSite{0.25f}); }) ==
        "a place that drops with a probability of 0.25 has no number, by which it would have masks "
        "of its own: its module's members() must show it, and the model must be placed, as "
        "Objective and nn::place_trained do");
  CHECK_NOTHROW(ctx.mask(DropoutSite{0.0f}));
  CHECK_NOTHROW(three.evaluation(device).mask(DropoutSite{0.25f}));
  CHECK_NOTHROW(ctx.mask(three.module.site));
}

TEST_CASE("a backward pass in evaluation is refused, which has no place for gradients") {
  Cpu device;
  Placed three(device, Three());
  auto ctx = three.evaluation(device);
  const std::string expected =
      "a gradient in a context for evaluation, which has no place for it: for a backward pass the "
      "context is nn::Context(device, values, gradients, key)";
  const Parameter &a = three.module.a, &b = three.module.b;
  CHECK(message_of<Error>([&] { return ctx.gradient(a, [](auto, auto) {}), 0; }) == expected);
  CHECK(message_of<Error>([&] { return ctx.gradients(a, b, [](auto, auto, auto, auto) {}), 0; }) ==
        expected);
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
