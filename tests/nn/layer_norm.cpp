// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/layer_norm.hpp>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/reference.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace layer_norm_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

TEST_CASE("layer normalisation begins as a mean of 0 and a variance of 1") {
  Cpu device;
  const Placed placed(device, LayerNorm<50>());
  const auto x = random_rows<50>(device, {3, 2}, 1, -4.0f, 20.0f);
  auto ctx = placed.evaluation(device);
  const auto y = matrix(placed.module.forward(ctx, x).output.values);
  for (index_t n = 0; n < 5; ++n) {
    double sum = 0.0, squares = 0.0;
    for (index_t c = 0; c < 50; ++c) {
      sum += y(n, c);
      squares += y(n, c) * y(n, c);
    }
    CHECK(sum / 50 == Approx(0.0).margin(1e-5));
    CHECK(squares / 50 == Approx(1.0).margin(1e-5));
  }
}

TEST_CASE("layer normalisation's gradients are those of central differences") {
  Cpu device;
  CHECK(gradient_fault(device, LayerNorm<7>(), random_rows<7>(device, {3, 2}, 2)) == "");
}

TEST_CASE("fused with a residual connection, layer normalisation is that of the sum") {
  Cpu device;
  Placed placed(device, LayerNorm<7>());
  const auto x = random_rows<7>(device, {3, 2}, 3);
  const auto branch = random_rows<7>(device, {3, 2}, 4);
  auto ctx = placed.training(device);
  auto [y, saved] = placed.module.forward_residual(ctx, x, {}, branch.values, {});
  const auto a = matrix(x.values), b = matrix(branch.values);
  CHECK(difference(saved.x, matrix(5, 7, [&](index_t n, index_t c) { return a(n, c) + b(n, c); }),
                   2 * unit_roundoff) == "");
  CHECK(bit_difference(y, placed.module.forward(ctx, {saved.x, x.layout}).output.values) == "");

  // What passes by the normalisation is added to what goes through it.
  const auto dy = random_tensor(device, y.shape(), 5),
             passing = random_tensor(device, y.shape(), 6);
  auto copy = saved;
  const auto through = placed.module.backward(ctx, std::move(copy), dy, {});
  const auto both = placed.module.backward(ctx, std::move(saved), dy, passing);
  const auto p = matrix(passing), t = matrix(through);
  CHECK(difference(both, matrix(5, 7, [&](index_t n, index_t c) { return p(n, c) + t(n, c); }),
                   8 * unit_roundoff) == "");
}

TEST_CASE("a normalisation's type says what is added to a variance") {
  constexpr index_t C = 50;
  Cpu device;
  // Variances of 1e-6 beside 1e-8; the bound is of five roundings of numbers up to 4.
  const auto x = random_rows<C>(device, {3, 2}, 1, -2e-3f, 2e-3f);
  const Placed placed(device, LayerNorm<C, ops::Centring::mean, -8>());
  auto ctx = placed.evaluation(device);
  const auto should =
      layer_norm(matrix(x.values), matrix(1, C, [](index_t, index_t) { return 1.0; }),
                 matrix(1, C, [](index_t, index_t) { return 0.0; }), 1e-8);
  CHECK(difference(placed.module.forward(ctx, x).output.values, should, 20 * unit_roundoff) == "");
  const auto nothing = random_rows<C>(device, {3, 2}, 2, 0.0f, 0.0f);
  CHECK(difference(placed.module.forward_residual(ctx, x, {}, nothing.values, {}).output, should,
                   20 * unit_roundoff) == "");
}

TEST_CASE("a normalisation of which one parameter is frozen has the other's gradient alone") {
  constexpr index_t C = 7;
  Cpu device;
  const auto x = random_rows<C>(device, {3, 2}, 1);
  const auto dy = random_tensor(device, x.values.shape(), 2);
  const auto gradients = [&](bool weight_trained, bool bias_trained) {
    LayerNorm<C> norm;
    norm.weight.trained = weight_trained;
    norm.bias.trained = bias_trained;
    Placed placed(device, norm);
    auto ctx = placed.training(device);
    auto [y, saved] = placed.module.forward(ctx, x);
    (void)placed.module.backward(ctx, std::move(saved), dy, {});
    const float* const all = placed.gradients.data();
    return std::vector<float>(all, all + placed.layout.trained);
  };
  const auto both = gradients(true, true);
  REQUIRE(both.size() == 2 * C);
  CHECK(gradients(true, false) == std::vector<float>(both.begin(), both.begin() + C));
  CHECK(gradients(false, true) == std::vector<float>(both.begin() + C, both.end()));
}

}  // namespace layer_norm_tests
