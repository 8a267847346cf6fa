// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/optim/adam.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <vector>

using namespace weft;

TEST_CASE("the first step of Adam is the learning rate, whatever the gradient's size") {
  Cpu device;
  const optim::Adam adam({.beta1 = 0.9, .beta2 = 0.999, .epsilon = 0.0});
  const std::vector<float> gradients{3e-9f, -0.25f, 7e6f};
  std::vector<float> values(3), first(3), second(3);
  optim::Adam::update(device, adam.step(1, 0.5, 1.0), {3, 0, 1}, gradients.data(), values.data(),
                      {first.data(), second.data()});
  // Some ten roundings: (1 - beta) and its correction have to agree to that.
  CHECK(values[0] == Approx(-0.5).epsilon(1e-6));
  CHECK(values[1] == Approx(0.5).epsilon(1e-6));
  CHECK(values[2] == Approx(-0.5).epsilon(1e-6));
}
