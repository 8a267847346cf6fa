// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A small matrix, transposed.
#pragma once

#include <cstring>

#include <weft/core/index.hpp>
#include <weft/core/registers.hpp>
#include <weft/ops/cpu/unroll.hpp>

namespace weft::ops::detail {

//! Four rows of four elements, transposed. Element by element a product of 64 rows took a tenth
//! longer, and attention to 32 words a twentieth.
template <class T>
WEFT_INLINE void transpose_four(const T* in, index_t in_stride, T* out, index_t out_stride) {
  using simd::FourFloats;
  FourFloats row[4];
  WEFT_UNROLL for (int r = 0; r < 4; ++r) std::memcpy(&row[r], in + r * in_stride, sizeof row[r]);
  const FourFloats low_02 = __builtin_shufflevector(row[0], row[2], 0, 4, 1, 5);
  const FourFloats low_13 = __builtin_shufflevector(row[1], row[3], 0, 4, 1, 5);
  const FourFloats high_02 = __builtin_shufflevector(row[0], row[2], 2, 6, 3, 7);
  const FourFloats high_13 = __builtin_shufflevector(row[1], row[3], 2, 6, 3, 7);
  const FourFloats column[4] = {__builtin_shufflevector(low_02, low_13, 0, 4, 1, 5),
                                __builtin_shufflevector(low_02, low_13, 2, 6, 3, 7),
                                __builtin_shufflevector(high_02, high_13, 0, 4, 1, 5),
                                __builtin_shufflevector(high_02, high_13, 2, 6, 3, 7)};
  WEFT_UNROLL for (int c = 0; c < 4; ++c) {
    std::memcpy(static_cast<void*>(out + c * out_stride), &column[c], sizeof column[c]);
  }
}

//! out (columns, rows) = the transpose of in (rows, columns), whose rows lie `in_stride` and
//! `out_stride` apart. An element has 4 bytes.
//!
//! A row of `out` is written 64 bytes at a time: rows that lie a power of two apart would push each
//! other out of the cache before the rest of such a line is written.
template <class T>
void transpose(index_t rows, index_t columns, const T* in, index_t in_stride, T* out,
               index_t out_stride) {
  static_assert(sizeof(T) == sizeof(float));
  constexpr index_t line = 16;
  for (index_t begin = 0; begin < rows; begin += line) {
    const index_t end = begin + line < rows ? begin + line : rows;
    for (index_t c = 0; c < columns; c += 4) {
      index_t r = begin;
      if (c + 4 <= columns) {
        for (; r + 4 <= end; r += 4) {
          transpose_four(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
        }
      }
      for (; r < end; ++r) {
        for (index_t j = c; j < c + 4 && j < columns; ++j) {
          out[j * out_stride + r] = in[r * in_stride + j];
        }
      }
    }
  }
}

//! The same, with zeros up to `width` in each row of `out`.
template <class T>
void transpose_and_pad(index_t rows, index_t columns, const T* in, index_t in_stride, T* out,
                       index_t width) {
  transpose(rows, columns, in, in_stride, out, width);
  for (index_t c = 0; c < columns; ++c) {
    for (index_t r = rows; r < width; ++r) out[c * width + r] = T{};
  }
}

}  // namespace weft::ops::detail
