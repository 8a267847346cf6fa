// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What attention's products on the CPU multiply: floats where they lie, or pairs of Bfloat16
//! that they are rounded to.
//!
//! A pair holds two elements of a sum. Sums run over channels, keys or queries, so a row of
//! channels is paired along itself where it is a left factor, and with the next row where it is a
//! right one.
#pragma once

#include <cstring>
#include <type_traits>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_pairs.hpp>
#include <weft/ops/cpu/attention_tiles.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/transpose.hpp>

namespace weft::ops::detail {

//! How many elements of a sum one of T holds.
template <class T>
inline constexpr index_t elements_in = std::is_same_v<T, float> ? 1 : 2;

//! How many of T hold n elements of a sum.
template <class T>
index_t numbers(index_t n) {
  return (n + elements_in<T> - 1) / elements_in<T>;
}

//! Rows of channels (count, width) as both factors of products.
template <class T>
struct BothFactors {
  HeadView<const T> left;   // (count, numbers of width)
  HeadView<const T> right;  // (numbers of count, width)

  //! Those of the rows from `n` on, an even number.
  [[nodiscard]] BothFactors from(index_t n) const {
    return {left.from(n), right.from(n / elements_in<T>)};
  }
};

//! The scratch memory that `as_both` needs for so many rows, in numbers; the others need no more.
template <class T>
index_t size_of_factors(const AttentionTask& task, index_t rows) {
  if constexpr (std::is_same_v<T, float>) return size_of_sums(task, rows);
  return task.width * (rows + 1);
}
//! The same of `over_keys` and `over_queries`.
template <class T>
inline constexpr index_t size_of_scores = std::is_same_v<T, float> ? 0 : query_tile* key_tile / 2;

//! sums (M, width) += left right, from a row of the sums on, each of K elements.
template <class T>
void add_product(const AttentionTask& task, index_t M, index_t K, Strided<T> left,
                 HeadView<const T> right, const RowSums& sums, index_t row) {
  multiply_tile(M, task.width, numbers<T>(K), left, right.data, right.stride, sums.row(row),
                sums.stride(), true);
}

//! A tile of keys or values (count, size) as columns (numbers of size, padded count): a row of
//! scores is then a sum of rows.
template <class T>
void transpose_keys(const AttentionTask& task, HeadView<const T> rows, index_t count, T* out) {
  transpose_and_pad(count, numbers<T>(task.size), rows.data, rows.stride, out, padded(count));
}

//! Rows as a left factor.
inline HeadView<const float> as_left(const AttentionTask& task, HeadView<const float> rows,
                                     index_t count, float* scratch) {
  return side_by_side(rows, count, task, scratch);
}
//! Rows as a right factor.
inline HeadView<const float> as_right(const AttentionTask& task, HeadView<const float> rows,
                                      index_t count, float* scratch) {
  return side_by_side(rows, count, task, scratch);
}
//! Rows as both.
inline BothFactors<float> as_both(const AttentionTask& task, HeadView<const float> rows,
                                  index_t count, float* scratch) {
  const auto factor = side_by_side(rows, count, task, scratch);
  return {factor, factor};
}

//! A tile of scores (queries, keys) as a left factor whose sums run over keys.
inline Strided<float> over_keys(const ScoreTile& tile, const float* scores, float*) {
  return {scores, tile.width, 1};
}
//! The transposed tile: sums run over queries.
inline Strided<float> over_queries(const ScoreTile& tile, const float* scores, float*) {
  return {scores, 1, tile.width};
}

#if WEFT_AVX512_BF16

//! Sixteen columns of a row that has `count`, from `first` on; zeros past its end.
WEFT_INLINE simd::Floats load_or_zeros(const float* row, index_t first, index_t count) {
  if (first + simd::width <= count) return simd::load(row, simd::Full{first});
  if (first >= count) return simd::Floats{};
  return simd::load(row, simd::Tail{first, static_cast<int>(count - first)});
}

//! Writes sixteen pairs from `first` on, or fewer that end at `count`.
WEFT_INLINE void store_until(simd::Bfloat16Pair* row, index_t first, index_t count,
                             simd::Words pairs) {
  if (first + simd::width <= count) return simd::store_all(row + first, pairs);
  std::memcpy(static_cast<void*>(row + first), &pairs,
              static_cast<std::size_t>(count - first) * sizeof *row);
}

//! Pairs of neighbours in a row of `size` elements, and zeros up to `width`, an even number.
inline void pair_neighbours(const float* row, index_t size, index_t width,
                            simd::Bfloat16Pair* out) {
  for (index_t i = 0; i < width; i += 2 * simd::width) {
    store_until(out, i / 2, width / 2,
                simd::round_neighbours(load_or_zeros(row, i, size),
                                       load_or_zeros(row, i + simd::width, size)));
  }
}

//! Pairs of what stands one below the other in each two rows of `size` elements, and zeros up to
//! `width`. Below the last of an odd number of rows stand zeros.
inline void pair_rows(HeadView<const float> rows, index_t count, index_t size, index_t width,
                      simd::Bfloat16Pair* out) {
  for (index_t n = 0; n < count; n += 2) {
    const bool has_next = n + 1 < count;
    for (index_t i = 0; i < width; i += simd::width) {
      store_until(
          out + n / 2 * width, i, width,
          simd::round_pairs(load_or_zeros(rows.row(n), i, size),
                            load_or_zeros(rows.row(has_next ? n + 1 : n), i, has_next ? size : 0)));
    }
  }
}

inline HeadView<const simd::Bfloat16Pair> as_left(const AttentionTask& task,
                                                  HeadView<const float> rows, index_t count,
                                                  simd::Bfloat16Pair* scratch) {
  const index_t stride = task.width / 2;
  for (index_t n = 0; n < count; ++n) {
    pair_neighbours(rows.row(n), task.size, task.width, scratch + n * stride);
  }
  return {scratch, stride};
}

inline HeadView<const simd::Bfloat16Pair> as_right(const AttentionTask& task,
                                                   HeadView<const float> rows, index_t count,
                                                   simd::Bfloat16Pair* scratch) {
  pair_rows(rows, count, task.size, task.width, scratch);
  return {scratch, task.width};
}

inline BothFactors<simd::Bfloat16Pair> as_both(const AttentionTask& task,
                                               HeadView<const float> rows, index_t count,
                                               simd::Bfloat16Pair* scratch) {
  const auto left = as_left(task, rows, count, scratch);
  return {left, as_right(task, rows, count, scratch + count * left.stride)};
}

inline Strided<simd::Bfloat16Pair> over_keys(const ScoreTile& tile, const float* scores,
                                             simd::Bfloat16Pair* scratch) {
  const index_t row = tile.width / 2;
  for (index_t i = 0; i < tile.queries; ++i) {
    pair_neighbours(scores + i * tile.width, tile.width, tile.width, scratch + i * row);
  }
  return {scratch, row, 1};
}

inline Strided<simd::Bfloat16Pair> over_queries(const ScoreTile& tile, const float* scores,
                                                simd::Bfloat16Pair* scratch) {
  pair_rows({scores, tile.width}, tile.queries, tile.width, tile.width, scratch);
  return {scratch, 1, tile.width};
}

#endif

}  // namespace weft::ops::detail
