// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of a few rows with a transposed matrix: as fast as the matrix comes from memory.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>
#include <weft/core/simd_pairs.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/unroll.hpp>

namespace weft::ops::detail {

//! The most rows that `multiply_few_rows` takes: a beam's. For 8 oneDNN 2.6 was faster than a loop
//! over eight rows of B at a time; beside this one it was not measured.
inline constexpr index_t most_few_rows = 5;

//! An element of each of M rows of C = A B', or C += A B', of a row b of B, in 2 M registers.
//!
//! Weights that are read once come from far. One row after the other is how memory gives them
//! fastest, 29 GB/s where 8 rows at a time came with 17 and a plain sum of all reads 31; what lies
//! 4 KiB ahead is asked for, since the processor does not look into the next page by itself. With
//! more rows of A that hid less of the waiting, and 16 KiB ahead is asked to come as far as the
//! second cache: 22 GB/s for 5 rows where it was 16, beside other work.
template <int M, class A, class B>
[[gnu::always_inline]] inline void dot_row(index_t K, const A* a, index_t lda, const B* b, float* c,
                                           index_t ldc, bool accumulate) {
  constexpr index_t ahead = 4096 / sizeof(B), far_ahead = 16384 / sizeof(B);
  simd::Floats even[M] = {}, odd[M] = {};
  const auto add = [&](simd::Floats * sums, auto k) __attribute__((always_inline)) {
    const auto row = simd::load(b, k);
    __builtin_prefetch(b + k.first + ahead);
    if constexpr (M > 2) __builtin_prefetch(b + k.first + far_ahead, 0, 2);
    WEFT_UNROLL for (int m = 0; m < M; ++m) {
      sums[m] = simd::multiply_add(simd::load(a + m * lda, k), row, sums[m]);
    }
  };
  index_t k = 0;
  for (; k + 2 * simd::width <= K; k += 2 * simd::width) {
    add(even, simd::Full{k});
    add(odd, simd::Full{k + simd::width});
  }
  if (k + simd::width <= K) {
    add(even, simd::Full{k});
    k += simd::width;
  }
  if (k < K) add(odd, simd::Tail{k, static_cast<int>(K - k)});
  WEFT_UNROLL for (int m = 0; m < M; ++m) {
    float& out = c[m * ldc];
    const float sum = simd::sum(even[m] + odd[m]);
    out = accumulate ? out + sum : sum;
  }
}

//! As many rows of A at a time as registers hold sums of: b is near for the others.
template <int M, class A, class B>
void multiply_rows(index_t N, index_t K, const A* a, index_t lda, const B* b, index_t ldb, float* c,
                   index_t ldc, bool accumulate) {
  constexpr int fit = block_sums / 2;
  constexpr int group = fit < 1 ? 1 : fit < M ? fit : M, rest = M % group;
  for (index_t n = 0; n < N; ++n) {
    const B* const row = b + n * ldb;
    for (int m = 0; m + group <= M; m += group) {
      dot_row<group>(K, a + m * lda, lda, row, c + m * ldc + n, ldc, accumulate);
    }
    if constexpr (rest > 0) {
      dot_row<rest>(K, a + (M - rest) * lda, lda, row, c + (M - rest) * ldc + n, ldc, accumulate);
    }
  }
}

//! C = A B', or C += A B'.
//!
//! **Shapes.** a: (M, K), 1 <= M <= most_few_rows. b: (N, K). c: (M, N). Their rows lie `lda`,
//! `ldb` and `ldc` apart. A is float, and B float or a number of 16 bits; or both are Bfloat16Pair:
//! two elements of each sum. An element of c depends on its rows of a and b alone, not on M or N.
template <class A, class B>
void multiply_few_rows(index_t M, index_t N, index_t K, const A* a, index_t lda, const B* b,
                       index_t ldb, float* c, index_t ldc, bool accumulate) {
  switch (M) {
    case 1:
      return multiply_rows<1>(N, K, a, lda, b, ldb, c, ldc, accumulate);
    case 2:
      return multiply_rows<2>(N, K, a, lda, b, ldb, c, ldc, accumulate);
    case 3:
      return multiply_rows<3>(N, K, a, lda, b, ldb, c, ldc, accumulate);
    case 4:
      return multiply_rows<4>(N, K, a, lda, b, ldb, c, ldc, accumulate);
    case 5:
      return multiply_rows<5>(N, K, a, lda, b, ldb, c, ldc, accumulate);
    default:
      throw ArgumentError(text("multiply_few_rows: ", M, " rows"));
  }
}

}  // namespace weft::ops::detail
