// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks an operation of one's own against its formula and against central differences, and that
// the number of threads changes no bit.
//
//     build/examples/guides/guide_write_an_operation
//
// Prints:
//   forward agrees with the formula in double: yes
//   both gradients agree with central differences: yes
//   three threads give the bits of one: yes
//   attempted: silu_gate: up is (5, 4), should be (5, 3)

// [include]
#include "silu_gate.hpp"

#include <weft/device/cpu.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

using namespace weft;

const char* said(bool holds) { return holds ? "yes" : "no"; }

// [include]

int main() {
  // [oracle]
  Cpu device;
  // One oracle is the formula, in double and as plainly as it can be said.
  const auto gate = testing::random_tensor(device, {5, 19}, /*seed=*/1, -4.0f, 4.0f);
  const auto up = testing::random_tensor(device, {5, 19}, /*seed=*/2);
  const auto y = testing::nan_tensor(device, {5, 19});  // what is left out stays NaN
  guides::silu_gate(device, gate, up, y);
  const auto g = testing::matrix(gate), u = testing::matrix(up);
  const auto expected = testing::matrix(
      5, 19, [&](index_t r, index_t c) { return g(r, c) / (1 + std::exp(-g(r, c))) * u(r, c); });
  const double bound = 4 * 16 * testing::unit_roundoff;  // |silu| < 4, some 16 roundings
  std::printf("forward agrees with the formula in double: %s\n",
              said(testing::difference(y, expected, bound).empty()));
  // [oracle]

  // [gradients]
  // The other is central differences of the loss <y, dy>, whose gradient is what backward gives.
  const auto dy = testing::random_tensor(device, {5, 19}, /*seed=*/3);
  const auto dgate = testing::nan_tensor(device, {5, 19});
  const auto dup = testing::nan_tensor(device, {5, 19});
  guides::silu_gate_backward(device, gate, up, dy, dgate, dup);
  const auto loss = [&] {
    guides::silu_gate(device, gate, up, y);
    return testing::inner(testing::matrix(y), testing::matrix(dy));
  };
  const auto elements = [](const Tensor<float>& x) {
    return std::span(x.data(), static_cast<std::size_t>(x.size()));
  };
  const double noise = 95 * bound;  // every element of y may be wrong by the bound
  const bool agree =
      testing::gradient_difference(elements(gate), elements(dgate), loss, noise).empty() &&
      testing::gradient_difference(elements(up), elements(dup), loss, noise).empty();
  std::printf("both gradients agree with central differences: %s\n", said(agree));
  // [gradients]

  // [threads]
  const auto on_threads = [](int threads) {
    Cpu team(threads);
    const auto a = testing::random_tensor(team, {300, 700}, 4);
    const auto b = testing::random_tensor(team, {300, 700}, 5);
    const auto out = testing::nan_tensor(team, {300, 700});
    guides::silu_gate(team, a, b, out);
    return to_host(out);
  };
  std::printf("three threads give the bits of one: %s\n", said(on_threads(3) == on_threads(1)));
  // [threads]

  try {
    guides::silu_gate(device, Tensor<float>(device, {5, 3}), Tensor<float>(device, {5, 4}), y);
  } catch (const ShapeError& error) {
    std::printf("attempted: %s\n", error.message().c_str());
  }
}
