// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Operations written as their formulas read, in double: oracles for the real ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/testing/matrix.hpp>

namespace weft::testing {

//! What `mask` multiplies column c of a row by, one element at a time: see ops::DropoutMask.
[[nodiscard]] inline double dropout_factor(const ops::DropoutMask& mask, RowKey row, index_t c) {
  if (!mask.active()) return 1.0;
  const auto first = static_cast<std::uint32_t>(c / 128 * 16 + c % 16);
  const auto words = philox<ops::DropoutMask::rounds>(
      {first, row.position, row.sequence, mask.operation}, mask.key);
  const index_t half_word = c / 16 % 8;
  const std::uint32_t word = words[half_word / 2];
  const std::uint32_t bits = half_word % 2 == 0 ? word & 0xffffu : word >> 16;
  return bits < mask.threshold ? 0.0 : static_cast<double>(mask.scale);
}

//! x P(X <= x) for a standard normal X.
[[nodiscard]] inline double gelu(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }

//! x / (1 + exp(-x)).
[[nodiscard]] inline double silu(double x) { return x / (1.0 + std::exp(-x)); }

//! An activation by its formula.
[[nodiscard]] inline double activated(ops::Activation activation, double x) {
  switch (activation) {
    case ops::Activation::relu:
      return x > 0.0 ? x : 0.0;
    case ops::Activation::gelu:
      return gelu(x);
    case ops::Activation::silu:
      return silu(x);
    case ops::Activation::identity:
      break;
  }
  return x;
}

//! exp(x[n, c]) / sum over k of exp(x[n, k]).
[[nodiscard]] inline Matrix softmax(Matrix x) {
  for (index_t n = 0; n < x.rows; ++n) {
    double largest = -std::numeric_limits<double>::infinity();
    for (index_t c = 0; c < x.columns; ++c) largest = std::max(largest, x(n, c));
    double sum = 0.0;
    for (index_t c = 0; c < x.columns; ++c) sum += x(n, c) = std::exp(x(n, c) - largest);
    for (index_t c = 0; c < x.columns; ++c) x(n, c) /= sum;
  }
  return x;
}

//! The mean and 1 / sqrt(variance + epsilon) of row n.
struct Moments {
  double mean;  //!< over the columns
  double rstd;  //!< 1 / sqrt(variance + epsilon), without Bessel's correction
};

//! Those of row n of x.
[[nodiscard]] inline Moments moments(const Matrix& x, index_t n, double epsilon) {
  const auto count = static_cast<double>(x.columns);
  double mean = 0.0, variance = 0.0;
  for (index_t c = 0; c < x.columns; ++c) mean += x(n, c) / count;
  for (index_t c = 0; c < x.columns; ++c) variance += (x(n, c) - mean) * (x(n, c) - mean) / count;
  return {mean, 1.0 / std::sqrt(variance + epsilon)};
}

//! **Shapes.** x: (N, C). gain, bias: (1, C).
[[nodiscard]] inline Matrix layer_norm(const Matrix& x, const Matrix& gain, const Matrix& bias,
                                       double epsilon) {
  Matrix y(x.rows, x.columns);
  for (index_t n = 0; n < x.rows; ++n) {
    const auto [mean, rstd] = moments(x, n, epsilon);
    for (index_t c = 0; c < x.columns; ++c) {
      y(n, c) = (x(n, c) - mean) * rstd * gain(0, c) + bias(0, c);
    }
  }
  return y;
}

//! x / sqrt(mean square + epsilon) gain. **Shapes.** x: (N, C). gain: (1, C).
[[nodiscard]] inline Matrix rms_norm(const Matrix& x, const Matrix& gain, double epsilon) {
  Matrix y(x.rows, x.columns);
  for (index_t n = 0; n < x.rows; ++n) {
    double square = 0.0;
    for (index_t c = 0; c < x.columns; ++c) square += x(n, c) * x(n, c);
    const double rms = std::sqrt(square / static_cast<double>(x.columns) + epsilon);
    for (index_t c = 0; c < x.columns; ++c) y(n, c) = x(n, c) / rms * gain(0, c);
  }
  return y;
}

//! -sum over v of target[v] log softmax(logits)[v], with a target of 1 - smoothing at the label and
//! smoothing / V everywhere. **Shapes.** logits: (1, V).
[[nodiscard]] inline double cross_entropy(const Matrix& logits, index_t label, double smoothing) {
  const auto count = static_cast<double>(logits.columns);
  const double largest = *std::max_element(logits.elements.begin(), logits.elements.end());
  double sum = 0.0;
  for (const double logit : logits.elements) sum += std::exp(logit - largest);
  double loss = 0.0;
  for (index_t v = 0; v < logits.columns; ++v) {
    const double target = smoothing / count + (v == label ? 1.0 - smoothing : 0.0);
    loss -= target * (logits(0, v) - largest - std::log(sum));
  }
  return loss;
}

}  // namespace weft::testing
