// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/rms_norm.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

namespace rms_norm_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

static_assert(parameter_count(RmsNorm<50>()) == 50);

TEST_CASE("RMS normalisation begins as a mean square of 1") {
  Cpu device;
  const Placed placed(device, RmsNorm<50>());
  const auto x = random_rows<50>(device, {3, 2}, 1, -4.0f, 20.0f);
  auto ctx = placed.evaluation(device);
  const auto y = matrix(placed.module.forward(ctx, x).output.values);
  for (index_t n = 0; n < 5; ++n) {
    double squares = 0.0;
    for (index_t c = 0; c < 50; ++c) squares += y(n, c) * y(n, c);
    CHECK(squares / 50 == Approx(1.0).margin(1e-5));
  }
}

TEST_CASE("RMS normalisation's gradients are those of central differences") {
  Cpu device;
  CHECK(gradient_fault(device, RmsNorm<7>(), random_rows<7>(device, {3, 2}, 2)) == "");
}

TEST_CASE("a frozen RMS normalisation has the input's gradient alone") {
  Cpu device;
  RmsNorm<7> norm;
  norm.weight.trained = false;
  CHECK(gradient_fault(device, norm, random_rows<7>(device, {3, 2}, 2)) == "");
}

}  // namespace rms_norm_tests
