// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/activations.hpp>

#include <weft/testing/difference.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>
#include <utility>

namespace activations_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

//! Checks y = f(x) and dx = slope(x) dy over [-6, 6] to `bound`.
template <class Activation, class F, class Slope>
void check(F f, Slope slope, double bound) {
  Cpu device(2);
  Placed placed(device, Activation());
  const auto x = random_rows<37>(device, {9, 1, 4}, 1, -6.0f, 6.0f);
  const auto dy = random_rows<37>(device, {9, 1, 4}, 2);
  auto ctx = placed.training(device);
  auto [y, saved] = placed.module.forward(ctx, x);
  const auto dx = placed.module.backward(ctx, std::move(saved), dy);
  const auto in = matrix(x.values), gradient = matrix(dy.values);
  CHECK(difference(y.values, matrix(14, 37, [&](index_t n, index_t c) { return f(in(n, c)); }),
                   bound) == "");
  CHECK(difference(
            dx.values,
            matrix(14, 37, [&](index_t n, index_t c) { return gradient(n, c) * slope(in(n, c)); }),
            bound) == "");
}

}  // namespace

TEST_CASE("ReLU keeps what is positive, and its gradient, exactly") {
  check<Relu<37>>([](double x) { return x > 0.0 ? x : 0.0; },
                  [](double x) { return x > 0.0 ? 1.0 : 0.0; }, 0.0);
}

TEST_CASE("GELU multiplies with the normal distribution function") {
  const auto density = [](double x) {
    return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  };
  // |x| <= 6 times 1.5e-7, the approximation's error, and some roundings.
  check<Gelu<37>>([](double x) { return x * normal_cdf(x); },
                  [&](double x) { return normal_cdf(x) + x * density(x); }, 2e-6);
}

TEST_CASE("SiLU multiplies with the logistic function") {
  const auto logistic = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  // |x| <= 6 times 3e-7 / 4, that of exp, and some roundings.
  check<Silu<37>>([&](double x) { return x * logistic(x); },
                  [&](double x) { return logistic(x) * (1.0 + x * logistic(-x)); }, 2e-6);
}

TEST_CASE("activations have no parameters") {
  static_assert(parameter_count(Relu<4>(), Gelu<4>(), Silu<4>()) == 0);
  CHECK(named_parameters(Relu<4>()).empty());
}

}  // namespace activations_tests
