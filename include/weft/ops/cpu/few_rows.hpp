// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of a few rows with a transposed matrix: as fast as the matrix comes from memory.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/unroll.hpp>

namespace weft::ops::detail {

//! The most rows that `multiply_few_rows` takes.
//!
//! Of the time of oneDNN 2.6 on a core with AVX-512, for weights (N, 512) that lie in no cache, 1
//! row took 0.7 and 5 rows took 0.55 to 0.65; 8 rows took 1.3 times as long.
inline constexpr index_t most_few_rows = 5;

//! R elements of each of M rows of C = A B', or C += A B', in M R registers.
//!
//! Weights that are read once come from far: those of the R rows after these are asked for as these
//! are read, which saves a tenth of the time at 1 row and up to a third at 5.
template <int M, int R>
[[gnu::always_inline]] inline void dot_block(index_t K, const float* a, index_t lda, const float* b,
                                             index_t ldb, float* c, index_t ldc, bool accumulate) {
  simd::Floats sum[M][R] = {};
  const auto add = [&](auto k) __attribute__((always_inline)) {
    simd::Floats row[R];
    WEFT_UNROLL for (int r = 0; r < R; ++r) {
      row[r] = simd::load(b + r * ldb, k);
      __builtin_prefetch(b + (r + 2 * R) * ldb + k.first);
    }
    WEFT_UNROLL for (int m = 0; m < M; ++m) {
      const simd::Floats x = simd::load(a + m * lda, k);
      WEFT_UNROLL for (int r = 0; r < R; ++r) sum[m][r] += x * row[r];
    }
  };
  index_t k = 0;
  for (; k + simd::width <= K; k += simd::width) add(simd::Full{k});
  if (k < K) add(simd::Tail{k, static_cast<int>(K - k)});
  WEFT_UNROLL for (int m = 0; m < M; ++m) {
    WEFT_UNROLL for (int r = 0; r < R; ++r) {
      float& out = c[m * ldc + r];
      out = accumulate ? out + simd::sum(sum[m][r]) : simd::sum(sum[m][r]);
    }
  }
}

template <int M>
void multiply_rows(index_t N, index_t K, const float* a, index_t lda, const float* b, index_t ldb,
                   float* c, index_t ldc, bool accumulate) {
  constexpr int fit = block_sums / M;
  constexpr int R = fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
  index_t n = 0;
  for (; n + R <= N; n += R) dot_block<M, R>(K, a, lda, b + n * ldb, ldb, c + n, ldc, accumulate);
  for (; n < N; ++n) dot_block<M, 1>(K, a, lda, b + n * ldb, ldb, c + n, ldc, accumulate);
}

//! C = A B', or C += A B'.
//!
//! **Shapes.** a: (M, K), 1 <= M <= most_few_rows. b: (N, K). c: (M, N). Their rows lie `lda`,
//! `ldb` and `ldc` apart. An element of c depends on its rows of a and b alone, not on M or N.
inline void multiply_few_rows(index_t M, index_t N, index_t K, const float* a, index_t lda,
                              const float* b, index_t ldb, float* c, index_t ldc, bool accumulate) {
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
