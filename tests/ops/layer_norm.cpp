// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/layer_norm.hpp>

#include <weft/ops/column_sums.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <weft/tensor/tensor.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>
#include <weft/testing/widened.hpp>

#include "../message_of.hpp"

namespace layer_norm_tests {

using namespace weft;
using namespace weft::testing;
using ops::DropoutMask;
using ops::RowMoments;

namespace {

using Lengths = std::vector<index_t>;

constexpr index_t row_counts[] = {0, 1, 4};
constexpr index_t widths[] = {1, 2, 15, 16, 17, 512};
constexpr double epsilon = static_cast<double>(ops::layer_norm_epsilon);

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

//! The inputs of a layer normalisation, and what it leaves.
struct Norm {
  Tensor<float> x, gain, bias, y;
  Tensor<RowMoments> moments;

  Norm(Cpu& device, index_t N, index_t C, float low = -1.0f, float high = 1.0f)
      : x(random_tensor(device, {N, C}, 1, low, high)),
        gain(random_tensor(device, {C}, 2)),
        bias(random_tensor(device, {C}, 3)),
        y(nan_tensor(device, {N, C})),
        moments(device, {N}) {
    ops::layer_norm(device, x, gain, bias, y, moments);
  }
};

//! How far the normalised elements of a row may be off.
//!
//! A mean of C numbers takes C / 16 + 5 roundings of their magnitude, the variance two more for
//! each square. With A = max |x|, the mean is off by d <= (C / 16 + 5) u A; an element by d and its
//! own two roundings, times rstd; and rstd by half the relative error of the variance, to which d
//! adds d^2, and three roundings.
struct NormError {
  double rstd;      //!< relative
  double elements;  //!< absolute

  NormError(const Matrix& x, index_t n) {
    const Moments exact = moments(x, n, epsilon);
    const double roundings = static_cast<double>(x.columns) / 16 + 5;
    double largest = 0.0, largest_normal = 0.0;
    for (index_t c = 0; c < x.columns; ++c) {
      largest = std::max(largest, std::abs(x(n, c)));
      largest_normal = std::max(largest_normal, std::abs(x(n, c) - exact.mean) * exact.rstd);
    }
    const double mean = roundings * unit_roundoff * largest;
    const double shift = (mean + 2 * unit_roundoff * largest) * exact.rstd;
    rstd = 0.5 * ((roundings + 2) * unit_roundoff + shift * shift) + shift * unit_roundoff +
           3 * unit_roundoff;
    elements = shift + largest_normal * (rstd + unit_roundoff);
  }
};

}  // namespace

TEST_CASE("layer norm agrees with its formula in double") {
  Cpu device;
  for (const index_t N : row_counts) {
    for (const index_t C : widths) {
      for (const float low : {-1.0f, 99.0f}) {  // a mean far from 0: no E[x^2] - E[x]^2
        CAPTURE(N, C, low);
        const Norm norm(device, N, C, low, low + 2.0f);
        const Matrix x = matrix(norm.x), gain = matrix(norm.gain), bias = matrix(norm.bias);
        CHECK(difference(norm.y, layer_norm(x, gain, bias, epsilon),
                         matrix(N, C, [&](index_t n, index_t c) {
                           return std::abs(gain(0, c)) * NormError(x, n).elements +
                                  unit_roundoff *
                                      (2 * std::abs(gain(0, c)) * 30 + std::abs(bias(0, c)));
                         })) == "");
        for (index_t n = 0; n < N; ++n) {
          const Moments exact = moments(x, n, epsilon);
          const RowMoments found = norm.moments.data()[n];
          CHECK(static_cast<double>(found.mean) == Approx(exact.mean).epsilon(1e-5).margin(1e-6));
          CHECK(std::abs(static_cast<double>(found.rstd) - exact.rstd) <=
                exact.rstd * NormError(x, n).rstd);
        }
      }
    }
  }
}

TEST_CASE("a row of equal elements becomes the bias") {
  Cpu device;
  const auto x = to_device<float>(device, std::vector<float>(32, 3.0f), {2, 16}),
             gain = random_tensor(device, {16}, 1), bias = random_tensor(device, {16}, 2),
             y = nan_tensor(device, {2, 16});
  const Tensor<RowMoments> moments(device, {2});
  ops::layer_norm(device, x, gain, bias, y, moments);
  CHECK(bit_difference(y.slice(1, 2).reshaped({16}), bias) == "");
}

TEST_CASE("the fused residual connection and layer norm have the bits of the two") {
  Cpu device;
  for (const index_t N : row_counts) {
    for (const index_t C : widths) {
      CAPTURE(N, C);
      const auto layout = make_layout(device, Lengths{N});
      const auto x = random_tensor(device, {N, C}, 1), branch = random_tensor(device, {N, C}, 2),
                 branch_bias = random_tensor(device, {C}, 3), gain = random_tensor(device, {C}, 4),
                 bias = random_tensor(device, {C}, 5);
      const auto sum = nan_tensor(device, {N, C}), y = nan_tensor(device, {N, C}),
                 fused_sum = nan_tensor(device, {N, C}), fused_y = nan_tensor(device, {N, C});
      const Tensor<RowMoments> moments(device, {N}), fused_moments(device, {N});
      ops::residual(device, some_dropped, layout->keys, x, branch, branch_bias, sum);
      ops::layer_norm(device, sum, gain, bias, y, moments);
      ops::residual_layer_norm(device, some_dropped, layout->keys, x, branch, branch_bias,
                               fused_sum, gain, bias, fused_y, fused_moments);
      CHECK(bit_difference(fused_sum, sum) == "");
      CHECK(bit_difference(fused_y, y) == "");
      for (index_t n = 0; n < N; ++n) {
        CHECK(moments.data()[n].mean == fused_moments.data()[n].mean);
        CHECK(moments.data()[n].rstd == fused_moments.data()[n].rstd);
      }
    }
  }
}

TEST_CASE("the gradient of layer norm agrees with central differences") {
  // dx = rstd (g - mean(g) - xhat mean(g xhat)), g = dy gain: each mean takes C / 16 + 5 roundings
  // of |g| <= 1 or |xhat|, each xhat is off as NormError says.
  Cpu device;
  for (const index_t C : {1, 2, 15, 16, 17, 100}) {
    for (const bool past : {false, true}) {
      CAPTURE(C, past);
      constexpr index_t N = 3;
      const Norm norm(device, N, C);
      const auto dy = random_tensor(device, {N, C}, 4), residual = random_tensor(device, {N, C}, 5),
                 dx = nan_tensor(device, {N, C});
      const auto dx_residual = past ? View<const float>(residual) : View<const float>();
      const auto backward = [&](View<float> to) {
        (void)ops::layer_norm_backward(device, norm.x, norm.gain, norm.moments, dy, dx_residual,
                                       to);
      };
      backward(dx);
      const Matrix x = matrix(norm.x), gain = matrix(norm.gain), bias = matrix(norm.bias),
                   weights = matrix(dy), skipped = matrix(residual);
      const Matrix should = central_differences(
          [&](const Matrix& at) {
            return inner(layer_norm(at, gain, bias, epsilon), weights) +
                   (past ? inner(at, skipped) : 0.0);
          },
          x, 1e-6);
      CHECK(difference(dx, should, matrix(N, C, [&](index_t n, index_t) {
                         const NormError error(x, n);
                         const double rstd = moments(x, n, epsilon).rstd;
                         const double normal = 2.0 * rstd;  // at most: |x - mean| <= 2
                         const double roundings = (static_cast<double>(C) / 16 + 8) * unit_roundoff;
                         return 1e-7 + rstd * ((roundings + error.rstd) * (2.0 + normal * normal) +
                                               2.0 * error.elements * normal);
                       })) == "");
      backward(dy);
      CHECK(bit_difference(dy, dx) == "");
    }
  }
}

TEST_CASE("the gradients of gain and bias agree with central differences") {
  // A sum of N products |dy| <= 1 times xhat, each off by NormError and two roundings.
  Cpu device;
  for (const index_t N : {0, 1, 20, 70}) {
    for (const index_t C : {1, 15, 16, 17, 40, 300}) {
      CAPTURE(N, C);
      const Norm norm(device, N, C);
      const auto dy = random_tensor(device, {N, C}, 4), dx = nan_tensor(device, {N, C});
      const auto gradients = nan_tensor(device, {2 * C});
      const Matrix x = matrix(norm.x), gain = matrix(norm.gain), bias = matrix(norm.bias),
                   weights = matrix(dy);
      // Linear in both: a large step is exact.
      const Matrix dgain = central_differences(
          [&](const Matrix& at) { return inner(layer_norm(x, at, bias, epsilon), weights); }, gain,
          1e-3);
      const Matrix dbias = central_differences(
          [&](const Matrix& at) { return inner(layer_norm(x, gain, at, epsilon), weights); }, bias,
          1e-3);
      double bound = 1e-9 + unit_roundoff;
      for (index_t n = 0; n < N; ++n) {
        const double normal = 2.0 * moments(x, n, epsilon).rstd;
        bound += NormError(x, n).elements + static_cast<double>(N + 3) * unit_roundoff * normal;
      }
      ops::column_sums(
          device, ops::layer_norm_backward(device, norm.x, norm.gain, norm.moments, dy, {}, dx),
          gradients);
      CHECK(difference(gradients.slice(0, C), dgain, bound) == "");
      CHECK(difference(gradients.slice(C, 2 * C), dbias, bound) == "");
    }
  }
}

TEST_CASE("the gradient of a branch comes with that of the sum, as dropout has it") {
  Cpu device;
  constexpr index_t N = 37;
  for (const index_t C : {17, 300}) {
    CAPTURE(C);
    const Norm norm(device, N, C);
    const auto keys = make_layout(device, Lengths{N})->keys;
    const auto dy = random_tensor(device, {N, C}, 4);
    const auto dx = nan_tensor(device, {N, C}), both = nan_tensor(device, {N, C}),
               dropped = nan_tensor(device, {N, C}), dbranch = nan_tensor(device, {N, C});
    const auto alone =
        ops::layer_norm_backward(device, norm.x, norm.gain, norm.moments, dy, {}, dx);
    ops::dropout(device, some_dropped, keys, dx, dropped);
    const auto sums = ops::residual_layer_norm_backward(
        device, some_dropped, keys, norm.x, norm.gain, norm.moments, dy, {}, both, dbranch);
    CHECK(bit_difference(both, dx) == "");
    CHECK(bit_difference(dbranch, dropped) == "");
    CHECK(bit_difference(sums, alone) == "");
  }
}

TEST_CASE("what is normalised is written as a factor too, if there is room for one") {
  Cpu device;
  device.set_product_precision(ProductPrecision::bfloat16);
  constexpr index_t N = 5, C = 20;
  const Norm norm(device, N, C);
  const auto keys = make_layout(device, Lengths{N})->keys;
  const auto sum = nan_tensor(device, {N, C}), y = nan_tensor(device, {N, C});
  const ops::Factor<Cpu> factor(device, {N, C});
  ops::residual_layer_norm(device, some_dropped, keys, norm.x, norm.y, {}, sum, norm.gain,
                           norm.bias, y, norm.moments, factor.target());
  CHECK(bit_difference(widened(factor), widened(ops::Factor<Cpu>(y))) == "");
}

TEST_CASE("layer norm has the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          constexpr index_t N = 300, C = 70;
          const Norm norm(device, N, C);
          const auto layout = make_layout(device, Lengths{N});
          const auto sum = nan_tensor(device, {N, C}), y = nan_tensor(device, {N, C}),
                     dx = nan_tensor(device, {N, C});
          ops::residual_layer_norm(device, some_dropped, layout->keys, norm.x, norm.y, {}, sum,
                                   norm.gain, norm.bias, y, norm.moments);
          const auto sums =
              ops::layer_norm_backward(device, sum, norm.gain, norm.moments, y, norm.x, dx);
          return std::vector{sum, y, dx, sums};
        }) == "");
}

TEST_CASE("what does not fit a layer norm is refused") {
  Cpu device;
  const auto x = nan_tensor(device, {3, 2}), wide = nan_tensor(device, {3, 4}),
             none = nan_tensor(device, {3, 0}), c2 = nan_tensor(device, {2}),
             c3 = nan_tensor(device, {3});
  const Tensor<RowMoments> m3(device, {3}), m2(device, {2});
  const auto keys = make_layout(device, Lengths{3})->keys;
  const auto norm = [&](const auto& in, const auto& gain, const auto& bias, const auto& y,
                        const auto& moments) {
    return message_of<ShapeError>([&] { ops::layer_norm(device, in, gain, bias, y, moments); });
  };
  CHECK(norm(none, c2, c2, none, m3) == "layer_norm: x is (3, 0), needs a column");
  CHECK(norm(x, c2, c2, wide, m3) == "layer_norm: y is (3, 4), should be (3, 2)");
  CHECK(norm(x, c3, c2, x, m3) == "layer_norm: gain is (3), should be (2)");
  CHECK(norm(x, c2, c3, x, m3) == "layer_norm: bias is (3), should be (2)");
  CHECK(norm(x, c2, c2, x, m2) == "layer_norm: moments is (2), should be (3)");

  const auto fused = [&](const auto& branch, View<const float> branch_bias, const auto& gain,
                         const auto& bias, const auto& moments) {
    return message_of<ShapeError>([&] {
      ops::residual_layer_norm(device, {}, keys, x, branch, branch_bias, x, gain, bias, x, moments);
    });
  };
  CHECK(fused(wide, {}, c2, c2, m3) == "residual_layer_norm: branch is (3, 4), should be (3, 2)");
  CHECK(fused(x, c3, c2, c2, m3) == "residual_layer_norm: branch_bias is (3), should be (2)");
  CHECK(fused(x, {}, c3, c2, m3) == "residual_layer_norm: gain is (3), should be (2)");
  CHECK(fused(x, {}, c2, c3, m3) == "residual_layer_norm: bias is (3), should be (2)");
  CHECK(fused(x, {}, c2, c2, m2) == "residual_layer_norm: moments is (2), should be (3)");

  const auto backward = [&](const auto& gain, const auto& moments, const auto& dy,
                            View<const float> dx_residual, const auto& dx) {
    return message_of<ShapeError>(
        [&] { (void)ops::layer_norm_backward(device, x, gain, moments, dy, dx_residual, dx); });
  };
  CHECK(backward(c3, m3, x, {}, x) == "layer_norm_backward: gain is (3), should be (2)");
  CHECK(backward(c2, m2, x, {}, x) == "layer_norm_backward: moments is (2), should be (3)");
  CHECK(backward(c2, m3, wide, {}, x) == "layer_norm_backward: dy is (3, 4), should be (3, 2)");
  CHECK(backward(c2, m3, x, wide, x) ==
        "layer_norm_backward: dx_residual is (3, 4), should be (3, 2)");
  CHECK(backward(c2, m3, x, {}, wide) == "layer_norm_backward: dx is (3, 4), should be (3, 2)");

  const auto branch_backward = [&](const auto& dbranch, const auto& of_rows) {
    return message_of<ShapeError>([&] {
      (void)ops::residual_layer_norm_backward(device, {}, of_rows, x, c2, m3, x, {}, x, dbranch);
    });
  };
  CHECK(branch_backward(wide, keys) ==
        "residual_layer_norm_backward: dbranch is (3, 4), should be (3, 2)");
  CHECK(branch_backward(x, make_layout(device, Lengths{2})->keys) ==
        "residual_layer_norm_backward: keys is (2), should be (3)");
}

}  // namespace layer_norm_tests
