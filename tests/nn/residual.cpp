// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/residual.hpp>

#include <weft/nn/activations.hpp>
#include <weft/nn/dropout.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/linear.hpp>
#include <weft/testing/difference.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <utility>

namespace residual_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

static_assert(UnaryModule<Residual<Linear<3, 3>>>);
static_assert(parameter_count(Residual<Residual<Linear<3, 3>>>()) == 12);

TEST_CASE("a Residual adds its input to what its module gives") {
  Cpu device;
  Placed placed(device, Residual<Linear<6, 6>>());
  const auto x = random_rows<6>(device, {2, 3}, 1);
  auto ctx = placed.evaluation(device);
  const auto inner = matrix(placed.module.branch.forward(ctx, x).output.values);
  const auto before = matrix(x.values);
  const auto expected =
      matrix(5, 6, [&](index_t n, index_t c) { return before(n, c) + inner(n, c); });
  const auto y = placed.module.forward(ctx, x).output;
  CHECK(difference(y.values, expected, 4 * unit_roundoff) == "");
}

TEST_CASE("a Residual's gradients are those of central differences") {
  Cpu device;
  const auto x = random_rows<6>(device, {2, 3}, 2);
  CHECK(gradient_fault(device, Residual<Linear<6, 6>>(), x) == "");
  CHECK(gradient_fault(device, Residual<Residual<LayerNorm<6>>>(), x) == "");
  CHECK(gradient_fault(device, Residual(Dropout<6>(0.5f)), x) == "");
}

TEST_CASE("a Residual writes neither to its input nor to what its module gave or keeps") {
  Cpu device;
  const auto x = random_rows<6>(device, {2, 3}, 3);
  const auto before = matrix(x.values);

  const Placed dropout(device, Residual<Dropout<6>>());  // in evaluation it hands on its input
  auto evaluation = dropout.evaluation(device);
  const auto doubled = dropout.module.forward(evaluation, x).output;
  CHECK(difference(x.values, before, 0.0) == "");
  CHECK(difference(doubled.values,
                   matrix(5, 6, [&](index_t n, index_t c) { return 2.0 * before(n, c); }),
                   0.0) == "");

  Placed relu(device, Residual<Relu<6>>());  // keeps its output
  auto ctx = relu.training(device);
  const auto [y, saved] = relu.module.forward(ctx, x);
  CHECK(difference(
            saved.kept,
            matrix(5, 6,
                   [&](index_t n, index_t c) { return before(n, c) > 0.0 ? before(n, c) : 0.0; }),
            0.0) == "");
}

}  // namespace residual_tests
