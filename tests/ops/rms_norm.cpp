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

#include "../message_of.hpp"

namespace rms_norm_tests {

using namespace weft;
using namespace weft::testing;
using ops::DropoutMask;
using ops::RowMoments;

namespace {

using Lengths = std::vector<index_t>;

constexpr auto none = ops::Centring::none;
constexpr double epsilon = static_cast<double>(ops::layer_norm_epsilon);

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

//! The inputs of an RMS normalisation, and what it leaves.
struct Norm {
  Tensor<float> x, gain, y;
  Tensor<RowMoments> moments;

  Norm(Cpu& device, index_t N, index_t C, float low = -1.0f, float high = 1.0f)
      : x(random_tensor(device, {N, C}, 1, low, high)),
        gain(random_tensor(device, {C}, 2)),
        y(nan_tensor(device, {N, C})),
        moments(device, {N}) {
    ops::layer_norm<none>(device, x, gain, {}, y, moments);
  }
};

//! The relative error of 1 / sqrt(mean square): half that of a sum of C squares, which takes C / 16
//! + 5 roundings and one for each square; and three of the rest.
double rstd_error(index_t C) {
  return (0.5 * (static_cast<double>(C) / 16 + 6) + 3) * unit_roundoff;
}

double rstd_of(const Matrix& x, index_t n) {
  double square = 0.0;
  for (index_t c = 0; c < x.columns; ++c) square += x(n, c) * x(n, c);
  return 1.0 / std::sqrt(square / static_cast<double>(x.columns) + epsilon);
}

}  // namespace

TEST_CASE("RMS norm agrees with its formula in double") {
  Cpu device;
  for (const index_t N : {0, 1, 4}) {
    for (const index_t C : {1, 2, 15, 16, 17, 512}) {
      for (const float low : {-1.0f, 99.0f}) {
        CAPTURE(N, C, low);
        const Norm norm(device, N, C, low, low + 2.0f);
        const Matrix x = matrix(norm.x), should = rms_norm(x, matrix(norm.gain), epsilon);
        CHECK(difference(norm.y, should, matrix(N, C, [&](index_t n, index_t c) {
                           return std::abs(should(n, c)) * (rstd_error(C) + 2 * unit_roundoff);
                         })) == "");
        for (index_t n = 0; n < N; ++n) {
          const RowMoments found = norm.moments.data()[n];
          CHECK(found.mean == 0.0f);
          CHECK(static_cast<double>(found.rstd) ==
                Approx(rstd_of(x, n)).epsilon(rstd_error(C)).margin(0.0));
        }
      }
    }
  }
}

TEST_CASE("the fused residual connection and RMS norm have the bits of the two") {
  Cpu device;
  constexpr index_t N = 4;
  for (const index_t C : {1, 17, 300}) {
    CAPTURE(C);
    const auto keys = make_layout(device, Lengths{N})->keys;
    const auto x = random_tensor(device, {N, C}, 1), branch = random_tensor(device, {N, C}, 2),
               gain = random_tensor(device, {C}, 4);
    const auto sum = nan_tensor(device, {N, C}), y = nan_tensor(device, {N, C}),
               fused_sum = nan_tensor(device, {N, C}), fused_y = nan_tensor(device, {N, C});
    const Tensor<RowMoments> moments(device, {N}), fused_moments(device, {N});
    ops::residual(device, some_dropped, keys, x, branch, {}, sum);
    ops::layer_norm<none>(device, sum, gain, {}, y, moments);
    ops::residual_layer_norm<none>(device, some_dropped, keys, x, branch, {}, fused_sum, gain, {},
                                   fused_y, fused_moments);
    CHECK(bit_difference(fused_sum, sum) == "");
    CHECK(bit_difference(fused_y, y) == "");
    for (index_t n = 0; n < N; ++n) {
      CHECK(moments.data()[n].rstd == fused_moments.data()[n].rstd);
    }
  }
}

TEST_CASE("the gradients of RMS norm agree with central differences") {
  Cpu device;
  for (const index_t N : {1, 3, 70}) {
    for (const index_t C : {1, 2, 15, 16, 17, 100}) {
      CAPTURE(N, C);
      const Norm norm(device, N, C);
      const auto dy = random_tensor(device, {N, C}, 4), dx = nan_tensor(device, {N, C});
      const auto sums =
          ops::layer_norm_backward<none>(device, norm.x, norm.gain, norm.moments, dy, {}, dx);
      const Matrix x = matrix(norm.x), gain = matrix(norm.gain), weights = matrix(dy);
      // dx = rstd (g - xhat mean(g xhat)), where |g| <= 1 and |xhat| <= rstd: the mean takes C / 16
      // + 5 roundings, the rest 3, and each factor has the error of rstd.
      if (N <= 3) {
        const Matrix should = central_differences(
            [&](const Matrix& at) { return inner(rms_norm(at, gain, epsilon), weights); }, x, 1e-6);
        CHECK(difference(dx, should, matrix(N, C, [&](index_t n, index_t) {
                           const double rstd = rstd_of(x, n),
                                        roundings =
                                            (static_cast<double>(C) / 16 + 8) * unit_roundoff +
                                            3 * rstd_error(C);
                           return 1e-7 + rstd * roundings * (1.0 + rstd * rstd);
                         })) == "");
      }
      // Linear in the gain: a large step is exact. A sum of N products |dy| <= 1 times xhat.
      const Matrix dgain = central_differences(
          [&](const Matrix& at) { return inner(rms_norm(x, at, epsilon), weights); }, gain, 1e-3);
      double bound = 1e-9;
      for (index_t n = 0; n < N; ++n) {
        bound += rstd_of(x, n) * (rstd_error(C) + static_cast<double>(N + 3) * unit_roundoff);
      }
      const auto found = nan_tensor(device, {C});
      ops::column_sums(device, sums, found);
      CHECK(difference(found, dgain, bound) == "");
    }
  }
}

TEST_CASE("the gradient of a branch comes with that of an RMS norm's sum") {
  Cpu device;
  constexpr index_t N = 37, C = 70;
  const Norm norm(device, N, C);
  const auto keys = make_layout(device, Lengths{N})->keys;
  const auto dy = random_tensor(device, {N, C}, 4), passing = random_tensor(device, {N, C}, 5);
  const auto dx = nan_tensor(device, {N, C}), both = nan_tensor(device, {N, C}),
             dropped = nan_tensor(device, {N, C}), dbranch = nan_tensor(device, {N, C});
  const auto alone =
      ops::layer_norm_backward<none>(device, norm.x, norm.gain, norm.moments, dy, passing, dx);
  ops::dropout(device, some_dropped, keys, dx, dropped);
  const auto sums = ops::residual_layer_norm_backward<none>(
      device, some_dropped, keys, norm.x, norm.gain, norm.moments, dy, passing, both, dbranch);
  CHECK(bit_difference(both, dx) == "");
  CHECK(bit_difference(dbranch, dropped) == "");
  CHECK(bit_difference(sums, alone) == "");
}

TEST_CASE("RMS norm has the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          constexpr index_t N = 300, C = 70;
          const Norm norm(device, N, C);
          const auto dx = nan_tensor(device, {N, C});
          const auto sums = ops::layer_norm_backward<none>(device, norm.x, norm.gain, norm.moments,
                                                           norm.y, norm.x, dx);
          return std::vector{norm.y, dx, sums};
        }) == "");
}

TEST_CASE("what does not fit an RMS norm is refused by its name") {
  Cpu device;
  const auto x = nan_tensor(device, {3, 2}), wide = nan_tensor(device, {3, 4}),
             c3 = nan_tensor(device, {3}), c2 = nan_tensor(device, {2});
  const Tensor<RowMoments> moments(device, {3});
  const auto keys = make_layout(device, Lengths{3})->keys;
  CHECK(message_of<ShapeError>([&] { ops::layer_norm<none>(device, x, c3, {}, x, moments); }) ==
        "rms_norm: gain is (3), should be (2)");
  CHECK(message_of<ShapeError>([&] {
          ops::residual_layer_norm<none>(device, {}, keys, x, wide, {}, x, c2, {}, x, moments);
        }) == "residual_rms_norm: branch is (3, 4), should be (3, 2)");
  CHECK(message_of<ShapeError>([&] {
          (void)ops::layer_norm_backward<none>(device, x, c2, moments, wide, {}, x);
        }) == "rms_norm_backward: dy is (3, 4), should be (3, 2)");
  CHECK(message_of<ShapeError>([&] {
          (void)ops::residual_layer_norm_backward<none>(device, {}, keys, x, c2, moments, x, {}, x,
                                                        wide);
        }) == "residual_rms_norm_backward: dbranch is (3, 4), should be (3, 2)");
}

}  // namespace rms_norm_tests
