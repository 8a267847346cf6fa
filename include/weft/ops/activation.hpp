// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Bias, activation and dropout between the products of a feed-forward network, in one pass.
#pragma once

#include <cmath>
#include <cstdint>

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! What stands between the two products of a feed-forward network.
enum class Activation { identity, relu, gelu, silu };

namespace detail {

//! The standard normal distribution function, to 4e-7: its formula is off by 0.75e-7, its roundings
//! by more.
//!
//! **Source.** Abramowitz and Stegun 7.1.26 for erf(|x| / sqrt 2).
template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE Value normal_cdf(Value x) {
  const auto z = simd::max(x, -x) * 0.70710678f;
  const auto t = 1.0f / (z * 0.3275911f + 1.0f);
  auto p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const auto upper = p * t * simd::exp(-z * z) * 0.5f;  // P(X > |x|)
  return simd::select(x > 0.0f, 1.0f - upper, upper);
}

//! 1 / (1 + exp(-x)), and what it lacks to 1.
template <class Value>
struct Logistic {
  Value value;
  Value rest;
};

//! From exp(-|x|), which no x makes infinite; each part keeps its relative precision.
template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE Logistic<Value> logistic(Value x) {
  const auto e = simd::exp(-simd::max(x, -x));
  const auto larger = 1.0f / (e + 1.0f);
  const auto smaller = e * larger;
  return {simd::select(x > 0.0f, larger, smaller), simd::select(x > 0.0f, smaller, larger)};
}

template <Activation A, class Value>
WEFT_HOST_DEVICE WEFT_INLINE Value activate(Value x) {
  if constexpr (A == Activation::relu) return simd::max(Value{}, x);  // NaN stays NaN
  if constexpr (A == Activation::gelu) return x * normal_cdf(x);
  if constexpr (A == Activation::silu) return x * logistic(x).value;
  if constexpr (A == Activation::identity) return x;
}

//! The derivative at x.
template <Activation A, class Value>
WEFT_HOST_DEVICE WEFT_INLINE Value slope(Value x) {
  if constexpr (A == Activation::gelu) {
    constexpr float inverse_sqrt_2_pi = 0.39894228f;
    return normal_cdf(x) + x * simd::exp(x * x * -0.5f) * inverse_sqrt_2_pi;
  } else if constexpr (A == Activation::silu) {
    const auto [value, rest] = logistic(x);
    return value * (x * rest + 1.0f);
  } else if constexpr (A == Activation::relu) {
    return simd::select(x <= 0.0f, Value{}, Value{} + 1.0f);  // 1 where x is NaN, as PyTorch's
  } else {
    return Value{} + 1.0f;
  }
}

template <Activation A>
struct BiasActivationRow {
  static constexpr bool is_by_element = true;
  static constexpr int row_blocks = 5;  // see cuda_rows.cuh
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  const float* bias;  // may be null
  AnyFloats<const void> x;
  AnyFloats<void> y;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, bias, x, y); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const AnyFloats<const void> in = x + n * C;
    mask.write(lanes, keys[n], C, y + n * C, [&](auto c, auto factor) {
      auto value = simd::load(in, c);
      if (bias != nullptr) value += simd::load(bias, c);
      return activate<A>(value) * factor;
    });
  }
};

struct ReluBackwardRow {
  static constexpr bool is_by_element = true;
  static constexpr int row_blocks = 6;  // see cuda_rows.cuh
  static constexpr bool ends_in_quads = true;

  float scale;
  AnyFloats<const void> y, dy;
  AnyFloats<void> dx;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, y, dy, dx); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    lanes.write(C, dx + n * C, [&](auto c) {
      auto gradient = simd::load(dy + n * C, c) * scale;
      return simd::select(simd::load(y + n * C, c) <= 0.0f, decltype(gradient){}, gradient);
    });
  }
};

template <Activation A>
struct ActivationBackwardRow {
  static constexpr bool is_by_element = true;
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  const float* bias;  // may be null
  AnyFloats<const void> x, dy;
  AnyFloats<void> dx;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, bias, x, dy, dx); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    mask.write(lanes, keys[n], C, dx + n * C, [&](auto c, auto factor) {
      auto value = simd::load(x + n * C, c);
      if (bias != nullptr) value += simd::load(bias, c);
      return simd::load(dy + n * C, c) * factor * slope<A>(value);
    });
  }
};

}  // namespace detail

//! y = dropout(activation(x + bias)).
//!
//! **Shapes.** x, y: (N, C); they may be the same. bias: (C), or empty for none. keys: (N).
//! **Errors.** ShapeError unless they fit.
//! **Source.** GELU with the normal distribution function, as PyTorch's default. SiLU, which others
//! call swish: x / (1 + exp(-x)), Hendrycks and Gimpel 2016.
template <Activation A, class D>
void bias_activation_dropout(D& device, const DropoutMask& mask, View<const RowKey> keys,
                             const FactorView& x, View<const float> bias, const FactorTarget& y) {
  detail::expect_no_gaps("bias_activation_dropout", "x", x);
  detail::expect_shape("bias_activation_dropout", "y", y, x.shape);
  detail::expect_shape("bias_activation_dropout", "keys", keys.shape, {x.rows()});
  detail::expect_shape_if_given("bias_activation_dropout", "bias", bias, {x.columns()});
  device.for_rows(
      x.rows(), x.columns(),
      detail::BiasActivationRow<A>{mask, keys.data, bias.data, x.numbers, y.numbers, x.columns()});
  detail::expect_finite(device, "bias_activation_dropout", "y", y);
}

//! The gradient of `bias_activation_dropout` with ReLU, from its *output*: where y > 0 the element
//! was neither dropped nor negative, so neither the mask nor the input is needed again. The output
//! may have been rounded; what that made 0 has no gradient. What is NaN lets it pass, as PyTorch's.
//!
//! **Shapes.** y, dy, dx: (N, C); dx may be dy. **Errors.** ShapeError unless they are equal.
template <class D>
void relu_dropout_backward(D& device, const DropoutMask& mask, const FactorView& y,
                           const FactorView& dy, const FactorTarget& dx) {
  detail::expect_no_gaps("relu_dropout_backward", "y", y);
  detail::expect_shape("relu_dropout_backward", "dy", dy, y.shape);
  detail::expect_shape("relu_dropout_backward", "dx", dx, y.shape);
  device.for_rows(
      y.rows(), y.columns(),
      detail::ReluBackwardRow{mask.scale, y.numbers, dy.numbers, dx.numbers, y.columns()});
  detail::expect_finite(device, "relu_dropout_backward", "dx", dx);
}

//! The gradient of `bias_activation_dropout` from its *input* x.
//!
//! **Shapes.** x, dy, dx: (N, C); dx may be dy or x. bias: (C), or empty. keys: (N).
//! **Errors.** ShapeError unless they fit.
template <Activation A, class D>
void activation_dropout_backward(D& device, const DropoutMask& mask, View<const RowKey> keys,
                                 const FactorView& x, View<const float> bias, const FactorView& dy,
                                 const FactorTarget& dx) {
  detail::expect_shape("activation_dropout_backward", "keys", keys.shape, {x.rows()});
  detail::expect_shape_if_given("activation_dropout_backward", "bias", bias, {x.columns()});
  detail::expect_no_gaps("activation_dropout_backward", "x", x);
  detail::expect_shape("activation_dropout_backward", "dy", dy, x.shape);
  detail::expect_shape("activation_dropout_backward", "dx", dx, x.shape);
  device.for_rows(x.rows(), x.columns(),
                  detail::ActivationBackwardRow<A>{mask, keys.data, bias.data, x.numbers,
                                                   dy.numbers, dx.numbers, x.columns()});
  detail::expect_finite(device, "activation_dropout_backward", "dx", dx);
}

}  // namespace weft::ops
