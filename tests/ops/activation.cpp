// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/activation.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace activation_tests {

using namespace weft;
using namespace weft::testing;
using ops::Activation;
using ops::DropoutMask;

namespace {

using Lengths = std::vector<index_t>;

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

//! The error of P(X <= x) in float: 1.5e-7 / 2 of the approximation, 3e-7 / 2 of exp, and some 10
//! roundings of numbers below 1.5 that are halved.
constexpr double cdf_error = 0.75e-7 + 1.5e-7 + 7.5 * unit_roundoff;

//! The error of 1 / (1 + exp(-x)) in float: it changes by at most a quarter of the 3e-7 by which
//! exp does, and there are three roundings.
constexpr double logistic_error = 0.75e-7 + 3 * unit_roundoff;

//! The error of an activation at x, before dropout: one rounding of the bias's addition, and those
//! of the activation.
double activation_error(Activation a, double x) {
  double relative = 3 * unit_roundoff;
  if (a == Activation::gelu) relative += cdf_error;
  if (a == Activation::silu) relative += logistic_error;
  return relative * std::abs(x);
}

//! The error of its slope for |x| < 5. That of GELU is P(X <= x) + x phi(x), phi off by 8
//! roundings; |x| phi(x) <= 0.25. That of SiLU is s + x s (1 - s), both factors off by 3e-7 and
//! three roundings of themselves, |x| s (1 - s) <= 0.23. The argument's rounding counts as often as
//! the second derivative says, 0.8 and 0.5 at most.
double slope_error(Activation a) {
  if (a == Activation::gelu) return cdf_error + (2.0 + 5.0 * 0.8 + 2.0) * unit_roundoff;
  if (a == Activation::silu) {
    const double factor_error = 3e-7 + 3 * unit_roundoff;
    return logistic_error + 0.23 * 2 * factor_error + (5.0 * 0.5 + 3.0) * unit_roundoff;
  }
  return 0.0;
}

template <Activation A>
void check_forward_and_backward(index_t N, index_t C, const DropoutMask& mask, bool with_bias) {
  CAPTURE(N, C, mask.active(), with_bias);
  Cpu device;
  const auto layout = make_layout(device, Lengths{N});
  const auto keys = to_host(layout->keys);
  const auto x = random_tensor(device, {N, C}, 1, -4.0f, 4.0f), b = random_tensor(device, {C}, 2);
  const View<const float> bias = with_bias ? View<const float>(b) : View<const float>();
  const Matrix in = matrix(x), shift = matrix(b);
  const auto factor = [&](index_t n, index_t c) {
    return dropout_factor(mask, keys[static_cast<std::size_t>(n)], c);
  };
  const auto argument = [&](const Matrix& at, index_t n, index_t c) {
    return at(n, c) + (with_bias ? shift(0, c) : 0.0);
  };

  const auto y = nan_tensor(device, {N, C});
  ops::bias_activation_dropout<A>(device, mask, layout->keys, x, bias, y);
  const Matrix should = matrix(
      N, C, [&](index_t n, index_t c) { return factor(n, c) * activated(A, argument(in, n, c)); });
  CHECK(difference(y, should, matrix(N, C, [&](index_t n, index_t c) {
                     return factor(n, c) * activation_error(A, std::abs(in(n, c)) + 1.0);
                   })) == "");

  const auto dy = random_tensor(device, {N, C}, 3), dx = nan_tensor(device, {N, C});
  ops::activation_dropout_backward<A>(device, mask, layout->keys, x, bias, dy, dx);
  const Matrix weights = matrix(dy);
  const Matrix slopes = central_differences(
      [&](const Matrix& at) {
        double sum = 0.0;
        for (index_t n = 0; n < N; ++n) {
          for (index_t c = 0; c < C; ++c) {
            sum += weights(n, c) * factor(n, c) * activated(A, argument(at, n, c));
          }
        }
        return sum;
      },
      in);
  CHECK(difference(dx, slopes, matrix(N, C, [&](index_t n, index_t c) {
                     return 1e-8 + factor(n, c) * (slope_error(A) + 4 * unit_roundoff) *
                                       std::abs(weights(n, c));
                   })) == "");

  ops::activation_dropout_backward<A>(device, mask, layout->keys, x, bias, dy, dy);
  CHECK(bit_difference(dy, dx) == "");
  ops::bias_activation_dropout<A>(device, mask, layout->keys, x, bias, x);
  CHECK(bit_difference(x, y) == "");
}

template <Activation A>
float activation_of(float x) {
  Cpu device;
  const auto layout = make_layout(device, Lengths{1});
  const auto y = to_device<float>(device, std::vector{x}, {1, 1});
  ops::bias_activation_dropout<A>(device, {}, layout->keys, y, {}, y);
  return y.data()[0];
}

float slope_of_silu(float x) {
  Cpu device;
  const auto layout = make_layout(device, Lengths{1});
  const auto at = to_device<float>(device, std::vector{x}, {1, 1}),
             dy = to_device<float>(device, std::vector{1.0f}, {1, 1});
  ops::activation_dropout_backward<Activation::silu>(device, {}, layout->keys, at, {}, dy, dy);
  return dy.data()[0];
}

}  // namespace

TEMPLATE_TEST_CASE_SIG(
    "bias, activation and dropout agree with their formulas, and their gradients "
    "with central differences",
    "", ((Activation A), A), Activation::identity, Activation::relu, Activation::gelu,
    Activation::silu) {
  for (const index_t N : {0, 1, 4}) {
    for (const index_t C : {0, 1, 15, 16, 17, 40}) {
      check_forward_and_backward<A>(N, C, some_dropped, true);
    }
  }
  check_forward_and_backward<A>(3, 130, {}, true);
  check_forward_and_backward<A>(3, 130, some_dropped, false);
}

TEMPLATE_TEST_CASE_SIG("GELU and SiLU agree with their formulas all along the axis", "",
                       ((Activation A), A), Activation::gelu, Activation::silu) {
  Cpu device;
  const index_t C = 40001;
  std::vector<float> values;
  for (index_t i = 0; i < C; ++i) values.push_back(static_cast<float>(i - 20000) * 1e-3f);
  const auto x = to_device<float>(device, values, {1, C}), y = nan_tensor(device, {1, C});
  ops::bias_activation_dropout<A>(device, {}, make_layout(device, Lengths{1})->keys, x, {}, y);
  const Matrix in = matrix(x);
  CHECK(difference(
            y, matrix(1, C, [&](index_t, index_t c) { return activated(A, in(0, c)); }),
            matrix(1, C, [&](index_t, index_t c) { return activation_error(A, in(0, c)); })) == "");
  CHECK(activation_of<A>(1e30f) == 1e30f);
  CHECK(activation_of<A>(-1e30f) == 0.0f);
  CHECK(std::isnan(activation_of<A>(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("SiLU has a slope wherever exp(-x) has none in float") {
  CHECK(slope_of_silu(0.0f) == 0.5f);
  CHECK(slope_of_silu(1e30f) == 1.0f);
  CHECK(slope_of_silu(-1e30f) == 0.0f);
  CHECK(slope_of_silu(200.0f) == 1.0f);
  CHECK(slope_of_silu(-200.0f) == 0.0f);
  CHECK(std::isnan(slope_of_silu(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("the gradient of ReLU from its output is that from its input") {
  Cpu device;
  for (const DropoutMask& mask : {DropoutMask(), some_dropped}) {
    for (const index_t C : {1, 16, 17, 200}) {
      const auto layout = make_layout(device, Lengths{3});
      const auto x = random_tensor(device, {3, C}, 1), bias = random_tensor(device, {C}, 2),
                 dy = random_tensor(device, {3, C}, 3);
      const auto y = nan_tensor(device, {3, C}), from_input = nan_tensor(device, {3, C}),
                 from_output = nan_tensor(device, {3, C});
      ops::bias_activation_dropout<Activation::relu>(device, mask, layout->keys, x, bias, y);
      ops::activation_dropout_backward<Activation::relu>(device, mask, layout->keys, x, bias, dy,
                                                         from_input);
      ops::relu_dropout_backward(device, mask, y, dy, from_output);
      CHECK(difference(from_output, matrix(from_input), 0.0) == "");
      ops::relu_dropout_backward(device, mask, y, dy, dy);
      CHECK(bit_difference(dy, from_output) == "");
    }
  }
}

TEST_CASE("ReLU keeps what is infinite and shows what is NaN, and lets its gradient pass") {
  Cpu device;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto x = to_device<float>(
      device, std::vector{infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), -1.0f},
      {1, 4});
  const auto layout = make_layout(device, Lengths{1});
  const auto y = nan_tensor(device, {1, 4}), dx = nan_tensor(device, {1, 4});
  ops::bias_activation_dropout<Activation::relu>(device, {}, layout->keys, x, {}, y);
  CHECK(y.data()[0] == infinity);
  CHECK(y.data()[1] == 0.0f);
  CHECK(std::isnan(y.data()[2]));
  CHECK(y.data()[3] == 0.0f);
  const auto dy = to_device<float>(device, std::vector{2.0f, infinity, 1.0f, infinity}, {1, 4});
  ops::relu_dropout_backward(device, {}, y, dy, dx);
  CHECK((dx.data()[0] == 2.0f && dx.data()[1] == 0.0f && dx.data()[3] == 0.0f));
  CHECK(dx.data()[2] == 1.0f);
  ops::activation_dropout_backward<Activation::relu>(device, {}, layout->keys, x, {}, dy, dx);
  CHECK(dx.data()[2] == 1.0f);
}

TEST_CASE("activations have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto layout = make_layout(device, Lengths{300, 200});
          const auto x = random_tensor(device, {500, 70}, 1), bias = random_tensor(device, {70}, 2);
          const auto y = nan_tensor(device, {500, 70}), dx = nan_tensor(device, {500, 70});
          ops::bias_activation_dropout<Activation::gelu>(device, some_dropped, layout->keys, x,
                                                         bias, y);
          ops::activation_dropout_backward<Activation::gelu>(device, some_dropped, layout->keys, x,
                                                             bias, y, dx);
          return std::vector{y, dx};
        }) == "");
}

TEST_CASE("rows, keys and biases that do not fit are refused") {
  Cpu device;
  const auto three = make_layout(device, Lengths{3});
  const auto x = nan_tensor(device, {3, 2}), wide = nan_tensor(device, {3, 4}),
             tall = nan_tensor(device, {4, 2}), bias = nan_tensor(device, {3});
  const auto forward = [&](const auto& in, View<const float> b, const auto& out) {
    return message_of<ShapeError>([&] {
      ops::bias_activation_dropout<Activation::relu>(device, {}, three->keys, in, b, out);
    });
  };
  CHECK(forward(x, {}, wide) == "bias_activation_dropout: y is (3, 4), should be (3, 2)");
  CHECK(forward(x, bias, x) == "bias_activation_dropout: bias is (3), should be (2)");
  CHECK(forward(tall, {}, tall) == "bias_activation_dropout: keys is (3), should be (4)");
  const auto backward = [&](const auto& in, View<const float> b, const auto& dy, const auto& dx) {
    return message_of<ShapeError>([&] {
      ops::activation_dropout_backward<Activation::relu>(device, {}, three->keys, in, b, dy, dx);
    });
  };
  CHECK(backward(x, {}, wide, x) == "activation_dropout_backward: dy is (3, 4), should be (3, 2)");
  CHECK(backward(x, {}, x, wide) == "activation_dropout_backward: dx is (3, 4), should be (3, 2)");
  CHECK(backward(x, bias, x, x) == "activation_dropout_backward: bias is (3), should be (2)");
  CHECK(backward(tall, {}, tall, tall) ==
        "activation_dropout_backward: keys is (3), should be (4)");
  CHECK(message_of<ShapeError>([&] { ops::relu_dropout_backward(device, {}, x, wide, x); }) ==
        "relu_dropout_backward: dy is (3, 4), should be (3, 2)");
  CHECK(message_of<ShapeError>([&] { ops::relu_dropout_backward(device, {}, x, x, wide); }) ==
        "relu_dropout_backward: dx is (3, 4), should be (3, 2)");
}

}  // namespace activation_tests
