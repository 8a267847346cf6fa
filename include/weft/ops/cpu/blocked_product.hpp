// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of floats by weft's own tiles, in blocks that fit the caches.
#pragma once

#include <algorithm>
#include <cstring>

#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/cpu/product.hpp>
#include <weft/ops/cpu/summed.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/transpose.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

//! What is copied of op(B) at a time: strips of as many columns as a tile takes, which the first
//! cache holds, beside each other in the last one.
inline constexpr index_t strip = 16 * widest_block;
inline constexpr index_t most_panel_columns = 1024;
//! Rows that stay in the second cache while strip after strip is multiplied with them.
inline constexpr index_t most_block_rows = 120;

//! Columns `j` to `j` + `columns` - 1 of op(B), rows `k` to `k` + `depth` - 1: a strip (depth,
//! strip), zeros past the end.
inline void copy_strip(const Product& p, index_t k, index_t depth, index_t j, index_t columns,
                       float* out) {
  if (p.transpose_b) return transpose_and_pad(columns, depth, p.b + j * p.K + k, p.K, out, strip);
  for (index_t r = 0; r < depth; ++r) {
    const float* const row = p.b + (k + r) * p.N + j;
    if (columns == strip) {
      std::memcpy(out + r * strip, row, strip * sizeof(float));
    } else {
      for (index_t c = 0; c < strip; ++c) out[r * strip + c] = c < columns ? row[c] : 0.0f;
    }
  }
}

//! A part of C = op(A) op(B), or of C += op(A) op(B). An element depends on its row of op(A) and
//! its column of op(B) alone.
inline void multiply_blocked(Cpu& device, const Product& p, ProductPart part) {
  const index_t width = std::min(most_panel_columns, (part.columns() + strip - 1) / strip * strip);
  const index_t height = std::min(most_block_rows, part.rows());
  const index_t most_depth = summed_at_a_time(p.K);
  const Tensor<float> panel(device, {most_depth, width}), block(device, {height, most_depth});
  const Tensor<float> edge(device, {height, strip});
  const auto multiply_block = [&](Strided<float> a, index_t depth, ProductPart at,
                                  bool accumulate) {
    for (index_t j = at.column_begin; j < at.column_end; j += strip) {
      const index_t columns = std::min(strip, at.column_end - j);
      const float* const b = panel.data() + (j - at.column_begin) * depth;
      float* const c = p.c + at.row_begin * p.N + j;
      if (columns == strip) {
        multiply_tile(at.rows(), strip, depth, a, b, strip, c, p.N, accumulate);
        continue;
      }
      multiply_tile(at.rows(), strip, depth, a, b, strip, edge.data(), strip, false);
      for (index_t i = 0; i < at.rows(); ++i) {
        for (index_t n = 0; n < columns; ++n) {
          float& out = c[i * p.N + n];
          out = (accumulate ? out : 0.0f) + edge.data()[i * strip + n];
        }
      }
    }
  };
  for (ProductPart at = part; at.column_begin < part.column_end; at.column_begin = at.column_end) {
    at.column_end = std::min(at.column_begin + most_panel_columns, part.column_end);
    for (index_t k = 0; k < p.K; k += most_depth) {
      const index_t depth = std::min(most_depth, p.K - k);
      for (index_t j = at.column_begin; j < at.column_end; j += strip) {
        copy_strip(p, k, depth, j, std::min(strip, at.column_end - j),
                   panel.data() + (j - at.column_begin) * depth);
      }
      for (at.row_begin = part.row_begin; at.row_begin < part.row_end; at.row_begin = at.row_end) {
        at.row_end = std::min(at.row_begin + most_block_rows, part.row_end);
        Strided<float> a{p.a + at.row_begin * p.K + k, p.K, 1};
        if (p.transpose_a) {
          transpose(depth, at.rows(), p.a + k * p.M + at.row_begin, p.M, block.data(), depth);
          a = {block.data(), depth, 1};
        }
        multiply_block(a, depth, at, p.accumulate || k > 0);
      }
    }
  }
}

}  // namespace weft::ops::detail
