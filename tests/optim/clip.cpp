// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/clip.hpp>

#include <catch2/catch.hpp>

namespace clip_tests {

using weft::optim::clip_factor;

TEST_CASE("a gradient whose norm is within the limit is left alone") {
  CHECK(clip_factor(0.0, 1.0) == 1.0);
  CHECK(clip_factor(0.5, 1.0) == 1.0);
  CHECK(clip_factor(3.0, 3.1) == 1.0);
}

TEST_CASE("a gradient whose norm is above the limit is scaled down to it") {
  // torch.nn.utils.clip_grad_norm_: 1 / (4 + 1e-6) and 0.1 / (0.1 + 1e-6)
  CHECK(clip_factor(4.0, 1.0) == Approx(0.24999993750001562).epsilon(1e-15));
  CHECK(clip_factor(0.1, 0.1) == Approx(0.9999900000999989).epsilon(1e-15));
  CHECK(clip_factor(1e30, 2.0) * 1e30 == Approx(2.0));
}

TEST_CASE("a limit of 0 is none") {
  CHECK(clip_factor(1e30, 0.0) == 1.0);
  CHECK(clip_factor(0.0, 0.0) == 1.0);
}

}  // namespace clip_tests
