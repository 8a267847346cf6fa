// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/loss_scale.hpp>

#include <catch2/catch.hpp>

#include <limits>

#include "../message_of.hpp"

namespace loss_scale_tests {

using namespace weft;
using namespace weft::testing;
using optim::LossScale;
using optim::LossScaling;

TEST_CASE("the scale begins, grows and shrinks as GradScaler's does") {
  // As tests/reference/loss_scale.py printed.
  LossScale scale(LossScaling{.growth_interval = 3});
  CHECK(scale.value() == 65536.0);
  const struct {
    bool is_finite;
    double value;
    index_t good_updates;
  } updates[] = {{true, 65536.0, 1},  {true, 65536.0, 2},  {true, 131072.0, 0},
                 {true, 131072.0, 1}, {true, 131072.0, 2}, {false, 65536.0, 0},
                 {true, 65536.0, 1},  {true, 65536.0, 2},  {true, 131072.0, 0}};
  for (const auto& update : updates) {
    scale.after_gradient(update.is_finite);
    CHECK(scale.value() == update.value);
    CHECK(scale.good_updates() == update.good_updates);
  }
}

TEST_CASE("the scale stays a power of two whose square is far from the ends of a float") {
  LossScale scale(LossScaling{.growth_interval = 1});
  for (int update = 0; update < 100; ++update) scale.after_gradient(true);
  CHECK(scale.value() == 0x1p32);
  for (int update = 0; update < 100; ++update) scale.after_gradient(false);
  CHECK(scale.value() == 0x1p-32);
}

TEST_CASE("without scaling the scale is 1, whatever happens") {
  LossScale scale;
  scale.after_gradient(false);
  for (int update = 0; update < 5000; ++update) scale.after_gradient(true);
  scale.set(4.0, 1);
  CHECK(scale.value() == 1.0);
  CHECK_FALSE(scale.is_dynamic());
}

TEST_CASE("a scale that is no power of two, or never grows, is refused with what it is") {
  LossScaling{.initial = 0x1p-32}.check();
  LossScaling{.initial = 0x1p32, .growth_interval = 1}.check();
  CHECK(message_of<ArgumentError>([] { return LossScaling{.initial = 1000.0}.check(), 0; }) ==
        "loss scaling: 1000 at first, doubled after 2000 updates; needs a power of two from 2^-32 "
        "to 2^32, and an update");
  for (const double initial : {0.0, -2.0, 0x1p33, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(LossScaling{.initial = initial}.check(), ArgumentError);
  }
  CHECK_THROWS_AS(LossScaling{.growth_interval = 0}.check(), ArgumentError);
}

}  // namespace loss_scale_tests
