// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Softmax and its logarithm over rows.
#pragma once

#include <cmath>

#include <weft/core/exp_sum.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

template <bool Logarithm>
struct SoftmaxRow {
  const float* x;
  float* y;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* in = x + n * C;
    float* out = y + n * C;
    const ExpSum of_row = lanes.exp_sum(C, [&](auto c) { return simd::load(in, c); });
    if constexpr (Logarithm) {
      // One after the other: their sum would be rounded to the size of the logits.
      const float log_sum = std::log(of_row.exps);
      lanes.write(C, out, [&](auto c) { return simd::load(in, c) - of_row.largest - log_sum; });
    } else {
      const float norm = 1.0f / of_row.exps;
      lanes.write(C, out,
                  [&](auto c) { return simd::exp(simd::load(in, c) - of_row.largest) * norm; });
    }
  }
};

struct SoftmaxBackwardRow {
  const float* y;
  const float* dy;
  float* dx;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const auto at = [&](const float* rows, auto c) { return simd::load(rows + n * C, c); };
    const float inner = lanes.sum(C, [&](auto c) { return at(y, c) * at(dy, c); });
    lanes.write(C, dx + n * C, [&](auto c) { return at(y, c) * (at(dy, c) - inner); });
  }
};

}  // namespace detail

//! y[n, c] = exp(x[n, c]) / sum over k of exp(x[n, k]).
//!
//! **Shapes.** x, y: (N, C); they may be the same. **Errors.** ShapeError unless they are equal.
template <class D>
void softmax(D& device, View<const float> x, View<float> y) {
  detail::expect_shape("softmax", "y", y.shape, x.shape);
  device.for_rows(x.rows(), 8 * x.columns(),
                  detail::SoftmaxRow<false>{x.data, y.data, x.columns()});
  detail::expect_finite(device, "softmax", "y", y);
}

//! y = log softmax(x). **Shapes.** As `softmax`.
template <class D>
void log_softmax(D& device, View<const float> x, View<float> y) {
  detail::expect_shape("log_softmax", "y", y.shape, x.shape);
  device.for_rows(x.rows(), 8 * x.columns(), detail::SoftmaxRow<true>{x.data, y.data, x.columns()});
  detail::expect_finite(device, "log_softmax", "y", y);
}

//! dx[n, c] = y[n, c] (dy[n, c] - sum over k of y[n, k] dy[n, k]), from softmax's output y.
//!
//! **Shapes.** y, dy, dx: (N, C); dx may be dy. **Errors.** ShapeError unless they are equal.
template <class D>
void softmax_backward(D& device, View<const float> y, View<const float> dy, View<float> dx) {
  detail::expect_shape("softmax_backward", "dy", dy.shape, y.shape);
  detail::expect_shape("softmax_backward", "dx", dx.shape, y.shape);
  device.for_rows(y.rows(), 2 * y.columns(),
                  detail::SoftmaxBackwardRow{y.data, dy.data, dx.data, y.columns()});
  detail::expect_finite(device, "softmax_backward", "dx", dx);
}

}  // namespace weft::ops
