// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention to the keys of two attentions.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct MergeAttentionRow {
  static constexpr bool is_by_element = true;

  const index_t* rows;
  const float* other;
  const float* other_log_sums;
  float* out;
  const float* log_sums;
  index_t heads, head_size;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    for (index_t h = 0; h < heads; ++h) {
      const index_t head = rows[n] * heads + h;
      const float share = 1.0f / (1.0f + simd::exp(log_sums[head] - other_log_sums[head]));
      const float* const from = other + head * head_size;
      float* const to = out + head * head_size;
      lanes.write(head_size, to, [&](auto c) {
        const auto x = simd::load(to, c);
        return x + (simd::load(from, c) - x) * share;
      });
    }
  }
};

}  // namespace detail

//! Rows of `out` become what attention to its keys and to those of another attention gives, each
//! sum with the share that the logarithms of the sums of exponentials say.
//!
//! **Shapes.** rows: those that see keys of both, each once. other, out: (N, heads * size) of
//! `attention` for the same queries to other keys. other_log_sums, log_sums: (N, heads), which stay
//! as they are.
//! **Errors.** ShapeError.
//! **Source.** Dao, Haziza, Massa and Sizov, Flash-Decoding, 2023.
template <class D>
void merge_attention(D& device, View<const index_t> rows, View<const float> other,
                     View<const float> other_log_sums, View<float> out,
                     View<const float> log_sums) {
  const index_t heads = log_sums.columns(), C = out.columns();
  detail::expect_shape("merge_attention", "other", other.shape, out.shape);
  detail::expect_shape("merge_attention", "log_sums", log_sums.shape, {out.rows(), heads});
  detail::expect_shape("merge_attention", "other_log_sums", other_log_sums.shape, log_sums.shape);
  if (heads < 1 || C % heads != 0) {
    throw ShapeError(text("merge_attention: ", C, " channels of ", heads, " heads"));
  }
  device.for_rows(rows.size(), C,
                  detail::MergeAttentionRow{rows.data, other.data, other_log_sums.data, out.data,
                                            log_sums.data, heads, C / heads});
  detail::expect_finite(device, "merge_attention", "out", out);
}

}  // namespace weft::ops
