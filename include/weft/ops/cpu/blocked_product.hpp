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

//! The rows that a tile takes of C.
inline constexpr index_t tile_rows = block_sums / widest_block;
//! What is copied of op(B) at a time, in floats: strips beside each other in the second cache,
//! through which the rows of a tile go while the first one holds them. 384 KiB of the 512 that a
//! Zen 3 has.
inline constexpr index_t most_of_panel = 96 << 10;
//! Rows that are copied of a transposed A.
inline constexpr index_t most_block_rows = 16 * tile_rows;

//! The columns of `at` of op(B), rows `k` to `k` + `depth` - 1: (depth, strip) for each tile, zeros
//! past the end.
inline void copy_panel(const Product& p, ProductPart at, index_t k, index_t depth, float* out) {
  if (p.transpose_b) {
    for (index_t j = 0; j < at.columns(); j += strip) {
      transpose_and_pad(std::min(strip, at.columns() - j), depth,
                        p.b.floats() + (at.column_begin + j) * p.K + k, p.K, out + j * depth,
                        strip);
    }
    return;
  }
  for (index_t r = 0; r < depth; ++r) {
    const float* const row = p.b.floats() + (k + r) * p.N + at.column_begin;
    for (index_t j = 0; j < at.columns(); j += strip) {
      float* const tile = out + j * depth + r * strip;
      if (j + strip <= at.columns()) {
        std::memcpy(tile, row + j, strip * sizeof(float));
      } else {
        std::fill(std::copy(row + j, row + at.columns(), tile), tile + strip, 0.0f);
      }
    }
  }
}

//! Rows `i` to `i` + `rows` - 1 of op(A), columns `k` to `k` + `depth` - 1, where A lies
//! transposed: (depth, tile_rows) for each tile.
inline void copy_block(const Product& p, index_t i, index_t rows, index_t k, index_t depth,
                       float* out) {
  for (index_t r = 0; r < depth; ++r) {
    const float* const row = p.a.floats() + (k + r) * p.M + i;
    for (index_t t = 0; t < rows; t += tile_rows) {
      float* const tile = out + t * depth + r * tile_rows;
      if (t + tile_rows <= rows) {
        std::memcpy(tile, row + t, tile_rows * sizeof(float));
      } else {
        std::copy(row + t, row + rows, tile);
      }
    }
  }
}

//! Rows and columns of C that a tile makes, of a panel's `depth` products: c = a b, or c += a b.
//!
//! C is asked for before: its rows lie in as many pages, and waiting for them took a twentieth.
inline void multiply_tile_of_panel(index_t rows, index_t columns, index_t depth, Strided<float> a,
                                   const float* b, float* c, index_t ldc, bool accumulate) {
  for (index_t r = 0; r < rows; ++r) {
    for (index_t n = 0; n < columns; n += 16) __builtin_prefetch(c + r * ldc + n, 1);
  }
  if (columns == strip) return multiply_tile(rows, strip, depth, a, b, strip, c, ldc, accumulate);
  float edge[tile_rows * strip];
  multiply_tile(rows, strip, depth, a, b, strip, edge, strip, false);
  for (index_t r = 0; r < rows; ++r) {
    for (index_t n = 0; n < columns; ++n) {
      float& out = c[r * ldc + n];
      out = (accumulate ? out : 0.0f) + edge[r * strip + n];
    }
  }
}

//! A part of C = op(A) op(B), or of C += op(A) op(B). An element depends on its row of op(A) and
//! its column of op(B) alone.
inline void multiply_blocked(Cpu& device, const Product& p, ProductPart part) {
  const index_t most_depth = summed_at_a_time(p.K);
  const index_t width = std::min(most_of_panel / most_depth / strip * strip,
                                 (part.columns() + strip - 1) / strip * strip);
  const Tensor<float> panel(device, {most_depth, width});
  const Tensor<float> block(device, {p.transpose_a ? most_block_rows : 0, most_depth});
  const auto multiply_block = [&](index_t k, index_t depth, ProductPart at) {
    for (index_t i = at.row_begin; i < at.row_end; i += tile_rows) {
      Strided<float> a{p.a.floats() + i * p.K + k, p.K, 1};
      if (p.transpose_a) a = {block.data() + (i - at.row_begin) * depth, 1, tile_rows};
      for (index_t j = at.column_begin; j < at.column_end; j += strip) {
        multiply_tile_of_panel(std::min(tile_rows, at.row_end - i),
                               std::min(strip, at.column_end - j), depth, a,
                               panel.data() + (j - at.column_begin) * depth,
                               p.c.floats() + i * p.N + j, p.N, p.accumulate || k > 0);
      }
    }
  };
  for (ProductPart at = part; at.column_begin < part.column_end; at.column_begin = at.column_end) {
    at.column_end = std::min(at.column_begin + width, part.column_end);
    for (index_t k = 0; k < p.K; k += most_depth) {
      const index_t depth = std::min(most_depth, p.K - k);
      copy_panel(p, at, k, depth, panel.data());
      for (at.row_begin = part.row_begin; at.row_begin < part.row_end; at.row_begin = at.row_end) {
        at.row_end = std::min(at.row_begin + most_block_rows, part.row_end);
        if (p.transpose_a) copy_block(p, at.row_begin, at.rows(), k, depth, block.data());
        multiply_block(k, depth, at);
      }
    }
  }
}

}  // namespace weft::ops::detail
