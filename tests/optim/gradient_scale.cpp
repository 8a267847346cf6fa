// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/gradient_scale.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace gradient_scale_tests {

using namespace weft;
using optim::GradientScale;

TEST_CASE("a gradient is divided by the tokens, and clipped by the norm of its mean") {
  // A sum of norm 12 over 4 tokens is a mean of norm 3.
  CHECK(GradientScale(144.0, 4, 0.0).factor == 0.25);
  CHECK(GradientScale(144.0, 4, 5.0).factor == 0.25);
  CHECK(GradientScale(144.0, 4, 1.5).factor == Approx(0.125).epsilon(1e-6));
  CHECK(GradientScale(144.0, 4, 1.5).squares == 144.0);
}

TEST_CASE("nothing is changed by a gradient that is not finite, or without a token") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(GradientScale(infinity, 4, 1.0).factor == 0.0);
  CHECK(GradientScale(std::numeric_limits<double>::quiet_NaN(), 4, 1.0).rounded == 0.0f);
  CHECK(GradientScale(144.0, 0, 1.0).factor == 0.0);
}

TEST_CASE("a power of two that a gradient was multiplied by changes its factor by that alone") {
  constexpr double squares = 1.0 / 3.0;
  for (const double loss_scale : {0x1p-32, 0.5, 65536.0, 0x1p32}) {
    const GradientScale plain(squares, 7, 0.01);
    const GradientScale scaled(squares * loss_scale * loss_scale, 7, 0.01, loss_scale);
    CHECK(scaled.squares == plain.squares);
    CHECK(scaled.factor * loss_scale == plain.factor);
    CHECK(scaled.rounded * static_cast<float>(loss_scale) == plain.rounded);
  }
}

TEST_CASE("a device finds the scale that the host does, to the bit") {
  Cpu device(2);
  for (const index_t n : {1, 1023, 1024, 1025, 5000}) {
    CAPTURE(n);
    std::vector<double> sums(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = 1.0 / static_cast<double>(3 * i + 7);
    const auto on_device = to_device<double>(device, sums, {n});
    const Tensor<GradientScale> scale(device, {1});
    optim::find_gradient_scale(device, on_device, /*tokens=*/3, /*limit=*/0.1, scale,
                               /*loss_scale=*/4.0);
    const GradientScale expected(ops::ordered_sum(sums), 3, 0.1, 4.0);
    const GradientScale found = to_host(scale)[0];
    CHECK(found.squares == expected.squares);
    CHECK(found.factor == expected.factor);
    CHECK(found.rounded == static_cast<float>(expected.factor));
  }
}

}  // namespace gradient_scale_tests
