// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Label-smoothed cross entropy from logits, with its gradient in the same pass.
#pragma once

#include <cmath>
#include <limits>

#include <weft/core/exp_sum.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/check_ids.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! Says that no label is ignored. No label has this number: -1 and -100 often stand for padding.
inline constexpr token_t ignore_nothing = std::numeric_limits<token_t>::min();

namespace detail {

struct CrossEntropyRow {
  //! Of a GPU's block where a row does not fit its registers: few rows at a time, so that what is
  //! read for the sum is still in its cache when it is read for the gradient. 132 rows of 65,536
  //! logits are 35 MB.
  static constexpr int row_threads = 1024;
  static constexpr int row_blocks = 2;  // see cuda_rows.cuh

  const float* bias;  // may be null
  const token_t* labels;
  token_t ignored;
  float smoothing;
  float gradient_scale;
  const float* logits;
  AnyFloats<void> dlogits;  // may be null
  float* losses;
  index_t V, stride, dstride;  // of logits and dlogits

  [[nodiscard]] bool lies_in_quads() const {
    return simd::lie_in_quads(stride, logits, bias) && simd::lie_in_quads(dstride, dlogits);
  }
  [[nodiscard]] index_t columns_of_exps() const { return V; }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* row = logits + n * stride;
    const bool with_gradient = dlogits.data != nullptr;
    const AnyFloats<void> gradient = dlogits + n * dstride;
    const token_t label = labels[n];
    if (label == ignored) {
      losses[n] = 0.0f;
      if (with_gradient) {
        lanes.for_each(V,
                       [&](auto c) { simd::store(gradient, c, decltype(simd::load(row, c)){}); });
      }
      return;
    }
    expect_id(label, V);
    const auto logit = [&](auto c) {
      const auto x = simd::load(row, c);
      return bias == nullptr ? x : x + simd::load(bias, c);
    };
    // Read before anything is written: other lanes have other columns.
    const float at_label = bias == nullptr ? row[label] : row[label] + bias[label];
    const auto exps = lanes.exps(V, logit);
    const ExpSum of_row = exps.all;
    const float count = static_cast<float>(V);
    const float mean = smoothing == 0.0f ? 0.0f : of_row.sum / count - of_row.largest;
    losses[n] =
        std::log(of_row.exps) - (1.0f - smoothing) * (at_label - of_row.largest) - smoothing * mean;
    if (!with_gradient) return;
    const float norm = gradient_scale * (1.0f / of_row.exps);
    const float uniform = gradient_scale * (smoothing / count);
    exps.write(gradient, norm, [&](auto p) { return p - uniform; });
    // Found apart: where the probability is nearly 1, rounding it first would leave nothing.
    lanes.at(label, [&] {
      const float p = simd::exp(at_label - of_row.largest) * norm;
      simd::store(gradient, index_t{label}, p - uniform - gradient_scale * (1.0f - smoothing));
    });
  }
};

}  // namespace detail

//! losses[n] = -sum over v of target[n, v] log softmax(logits[n] + bias)[v], where the target has
//! 1 - smoothing at the label and smoothing / V everywhere; 0 for an ignored label.
//!
//! `dlogits`, unless it is empty, becomes gradient_scale d(sum of losses)/d(logits).
//!
//! **Shapes.** logits: (N, V). bias: (V), or empty. labels, losses: (N). dlogits: (N, V), or empty;
//! it may be `logits`, or a `Factor`'s target. Rows of both may have gaps between them.
//! **Cost.** Reads NV twice, with a gradient three times and writes it once, a row at a time from
//! cache; a GPU reads once less, and rows of up to 32,768 logits, which its registers hold, once.
//! **Errors.** ShapeError unless they fit. On a Cpu ArgumentError for a label outside 0 to V - 1
//! that is not ignored; a GPU's kernel faults.
//! **Source.** Szegedy et al. 2016, section 7; the same as PyTorch's `label_smoothing`.
template <class D>
void cross_entropy(D& device, const FactorView& logits, View<const float> bias,
                   View<const token_t> labels, token_t ignored, float smoothing,
                   const FactorTarget& dlogits, View<float> losses, float gradient_scale = 1.0f) {
  const bool with_gradient = dlogits.numbers.data != nullptr;
  if (logits.numbers.rounded()) {
    throw Error(text("cross_entropy: logits are ", logits.numbers.type, ", should be float32"));
  }
  if (with_gradient) detail::expect_shape("cross_entropy", "dlogits", dlogits.shape, logits.shape);
  detail::expect_shape_if_given("cross_entropy", "bias", bias, {logits.columns()});
  detail::expect_shape("cross_entropy", "labels", labels.shape, {logits.rows()});
  detail::expect_shape("cross_entropy", "losses", losses.shape, {logits.rows()});
  detail::expect_ids(device, "cross_entropy", "label", labels, logits.columns(), ignored);
  device.for_rows(
      logits.rows(), 8 * logits.columns(),
      detail::CrossEntropyRow{bias.data, labels.data, ignored, smoothing, gradient_scale,
                              logits.numbers.floats(), dlogits.numbers, losses.data,
                              logits.columns(), logits.stride, dlogits.stride});
  detail::expect_finite(device, "cross_entropy", "losses", losses);
  if (with_gradient) detail::expect_finite(device, "cross_entropy", "dlogits", dlogits);
}

}  // namespace weft::ops
