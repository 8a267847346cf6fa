// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file y = silu(gate) * up: an operation that weft lacks, forward and backward.
// [include]
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/tensor/view.hpp>

namespace guides {
// [include]

// [kernels]
//! silu(x) = x sigmoid(x) of the gate, times the other half.
struct SiluGateRow {
  const float* gate;
  const float* up;
  float* y;
  weft::index_t F;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, weft::index_t n) const {
    namespace simd = weft::simd;
    lanes.write(F, y + n * F, [&](auto c) {
      const auto g = simd::load(gate + n * F, c);
      const auto sigmoid = 1.0f / (simd::exp(-g) + 1.0f);
      return g * sigmoid * simd::load(up + n * F, c);
    });
  }
};

struct SiluGateBackwardRow {
  const float* gate;
  const float* up;
  const float* dy;
  float* dgate;
  float* dup;
  weft::index_t F;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, weft::index_t n) const {
    namespace simd = weft::simd;
    const auto find = [&](auto c) {
      const auto g = simd::load(gate + n * F, c);
      const auto d = simd::load(dy + n * F, c);
      const auto sigmoid = 1.0f / (simd::exp(-g) + 1.0f);
      const auto slope = sigmoid * ((1.0f - sigmoid) * g + 1.0f);
      return simd::pair(d * simd::load(up + n * F, c) * slope, d * g * sigmoid);
    };
    lanes.map(F, find, [&](auto c, auto gradients) {
      simd::store(dgate + n * F, c, gradients.first);
      simd::store(dup + n * F, c, gradients.second);
    });
  }
};
// [kernels]

// [operation]
//! **Errors.** ShapeError, with both shapes, unless they are equal.
inline void expect_same(const char* name, const weft::Shape& is, const weft::Shape& should) {
  if (is == should) return;
  throw weft::ShapeError(weft::text("silu_gate: ", name, " is ", is, ", should be ", should));
}

//! y[n, f] = silu(gate[n, f]) up[n, f].
//!
//! **Shapes.** gate, up, y: (N, F). **Errors.** ShapeError unless they are equal.
//! **Source.** Shazeer 2020, "GLU variants improve Transformer".
template <class D>
void silu_gate(D& device, weft::View<const float> gate, weft::View<const float> up,
               weft::View<float> y) {
  expect_same("up", up.shape, gate.shape);
  expect_same("y", y.shape, gate.shape);
  constexpr weft::index_t cost = 8;  // an exponential is worth some eight multiplications
  device.for_rows(gate.rows(), cost * gate.columns(),
                  SiluGateRow{gate.data, up.data, y.data, gate.columns()});
}

//! The gradients of `silu_gate` from its inputs.
//!
//! **Shapes.** gate, up, dy, dgate, dup: (N, F). **Errors.** ShapeError unless they are equal.
template <class D>
void silu_gate_backward(D& device, weft::View<const float> gate, weft::View<const float> up,
                        weft::View<const float> dy, weft::View<float> dgate,
                        weft::View<float> dup) {
  expect_same("up", up.shape, gate.shape);
  expect_same("dy", dy.shape, gate.shape);
  expect_same("dgate", dgate.shape, gate.shape);
  expect_same("dup", dup.shape, gate.shape);
  constexpr weft::index_t cost = 12;
  device.for_rows(
      gate.rows(), cost * gate.columns(),
      SiluGateBackwardRow{gate.data, up.data, dy.data, dgate.data, dup.data, gate.columns()});
}

}  // namespace guides
// [operation]
