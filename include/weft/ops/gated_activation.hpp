// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What stands between the products of a gated feed-forward network, in one pass.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

template <Activation A>
struct GatedActivationRow {
  static constexpr bool is_by_element = true;
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  AnyFloats<const void> x;
  AnyFloats<void> y;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, x, y); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const AnyFloats<const void> gates = x + n * 2 * C, values = gates + C;
    mask.write(lanes, keys[n], C, y + n * C, [&](auto c, auto factor) {
      return activate<A>(simd::load(gates, c)) * simd::load(values, c) * factor;
    });
  }
};

template <Activation A>
struct GatedActivationBackwardRow {
  static constexpr bool is_by_element = true;
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  AnyFloats<const void> x, dy;
  AnyFloats<void> dx;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, x, dy, dx); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const AnyFloats<const void> gates = x + n * 2 * C, values = gates + C;
    const AnyFloats<void> dgates = dx + n * 2 * C, dvalues = dgates + C;
    const auto find = [&](auto c, auto factor) {
      const auto gradient = simd::load(dy + n * C, c) * factor;
      const auto gate = simd::load(gates, c);
      return simd::pair(gradient * simd::load(values, c) * slope<A>(gate),
                        gradient * activate<A>(gate));
    };
    mask.map(lanes, keys[n], C, find, [&](auto c, auto gradients) {
      simd::store(dgates, c, gradients.first);
      simd::store(dvalues, c, gradients.second);
    });
  }
};

}  // namespace detail

//! y[n, c] = dropout(activation(x[n, c]) x[n, C + c]).
//!
//! **Shapes.** x: (N, 2 C), C gates and then C values. y: (N, C). keys: (N).
//! **Errors.** ShapeError unless they fit.
//! **Source.** Shazeer 2020: SwiGLU with `Activation::silu`, GEGLU with gelu, ReGLU with relu.
template <Activation A, class D>
void gated_activation_dropout(D& device, const DropoutMask& mask, View<const RowKey> keys,
                              const FactorView& x, const FactorTarget& y) {
  constexpr const char* name = "gated_activation_dropout";
  detail::expect_no_gaps(name, "x", x);
  detail::expect_shape(name, "x", x, {y.shape.rows(), 2 * y.shape.columns()});
  detail::expect_shape(name, "keys", keys.shape, {y.shape.rows()});
  device.for_rows(
      y.shape.rows(), 2 * y.shape.columns(),
      detail::GatedActivationRow<A>{mask, keys.data, x.numbers, y.numbers, y.shape.columns()});
  detail::expect_finite(device, name, "y", y);
}

//! The gradient of `gated_activation_dropout` from its *input* x.
//!
//! **Shapes.** x, dx: (N, 2 C); they may be the same. dy: (N, C). keys: (N).
//! **Errors.** ShapeError unless they fit.
template <Activation A, class D>
void gated_activation_dropout_backward(D& device, const DropoutMask& mask, View<const RowKey> keys,
                                       const FactorView& x, const FactorView& dy,
                                       const FactorTarget& dx) {
  constexpr const char* name = "gated_activation_dropout_backward";
  detail::expect_no_gaps(name, "x", x);
  detail::expect_no_gaps(name, "dy", dy);
  detail::expect_shape(name, "x", x, {dy.rows(), 2 * dy.columns()});
  detail::expect_shape(name, "dx", dx, x.shape);
  detail::expect_shape(name, "keys", keys.shape, {dy.rows()});
  device.for_rows(dy.rows(), 2 * dy.columns(),
                  detail::GatedActivationBackwardRow<A>{mask, keys.data, x.numbers, dy.numbers,
                                                        dx.numbers, dy.columns()});
  detail::expect_finite(device, name, "dx", dx);
}

}  // namespace weft::ops
