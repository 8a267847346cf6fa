// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Products of tens of rows with a transposed matrix, which is not copied.
#pragma once

#include <algorithm>
#include <type_traits>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/cpu/summed.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/cpu/transpose.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

//! The most rows that `multiply_skinny` takes. With AVX-512 and 128 rows of floats, whose weights
//! come from memory, oneDNN 2.6 makes 190 GFLOP/s where this makes 230, of Bfloat16 380 and 480.
//! With 192 rows that is 209 and 231, but the chunked loss's 160 by 32,000 took no less time. With
//! AVX2, on a Zen 3, 64 rows by 512 x 2,048 weights make 91 GFLOP/s, weft's product that copies
//! them 66; 192 rows 88 and 83; 320 are as fast by either.
inline constexpr index_t most_skinny_rows = WEFT_AVX512 ? 128 : 192;

//! A strip of C'. In a function of its own its addresses stay in registers: 93 GFLOP/s with AVX2
//! where 84 were made within the loops around it.
template <class T>
[[gnu::noinline]] void multiply_strip(index_t rows, index_t columns, index_t K, Strided<T> b,
                                      const T* a, float* c, index_t ldc, bool accumulate,
                                      Following<T> next) {
  multiply_tile(rows, columns, K, b, a, columns, c, ldc, accumulate, next);
}

//! C = A B', or C += A B', as C' = B A': A, which is small, is transposed, and B, which is large,
//! is read as it lies and once. oneDNN copies B first, and reaches 29 to 43 GFLOP/s with 16 rows
//! and 54 to 84 with 64 where this reached 55 to 68 and 85 to 94. The rows of B that follow are
//! asked for meanwhile: on another processor, 150 to 165 GFLOP/s became 220 to 240 with 64 rows,
//! 106 became 165 with 16.
//!
//! A' lies in strips, one after another, which the first cache holds: as rows of 64, of which a
//! strip takes 16, it went to a quarter of that cache's sets (79 to 87 GFLOP/s for 93, with AVX2).
//!
//! **Shapes.** a: (M, K), 1 <= M <= most_skinny_rows. b: (N, K). c: (M, N). Their rows lie `lda`,
//! `ldb` and `ldc` apart. T is float, or Bfloat16Pair: two elements of each sum. An element of c
//! depends on its rows of a and b alone, not on M or N.
template <class T>
void multiply_skinny(Cpu& device, index_t M, index_t N, index_t K, const T* a, index_t lda,
                     const T* b, index_t ldb, float* c, index_t ldc, bool accumulate) {
  constexpr index_t rows_of_b = 24;
  // Of C, which are written: of 64 that lie 8 KiB apart the first cache drops lines half written.
  constexpr index_t rows_of_c = 16;
  const index_t width = (M + simd::width - 1) / simd::width * simd::width;
  const Tensor<T> transposed(device, {width, K});
  const Tensor<float> memory(device, {rows_of_b, width});
  T* const columns = transposed.data();
  float* const result = memory.data();
  const index_t step = std::is_same_v<T, float> ? summed_at_a_time(K) : K;
  // Calls f(m, rows, padded): rows m to m + rows - 1 of A are a strip of so many columns.
  const auto for_strips = [&](const auto& f) {
    for (index_t m = 0; m < M; m += strip) {
      f(m, std::min(M - m, strip), std::min(width - m, strip));
    }
  };
  for_strips([&](index_t m, index_t rows, index_t padded) {
    transpose_and_pad(rows, K, a + m * lda, lda, columns + m * K, padded);
  });
  for (index_t n = 0; n < N; n += rows_of_b) {
    const index_t count = N - n < rows_of_b ? N - n : rows_of_b;
    float* const out = c + n;
    if (accumulate) transpose_and_pad<float>(M, count, out, ldc, result, width);
    for (index_t k = 0; k < K; k += step) {
      const Following<T> next{b + (n + rows_of_b) * ldb + k * rows_of_b};
      for_strips([&](index_t m, index_t, index_t padded) {
        multiply_strip(count, padded, std::min(step, K - k), {b + n * ldb + k, ldb, 1},
                       columns + m * K + k * padded, result + m, width, accumulate || k > 0, next);
      });
    }
    for (index_t m = 0; m < M; m += rows_of_c) {
      transpose<float>(count, std::min(M - m, rows_of_c), result + m, width, out + m * ldc, ldc);
    }
  }
}

}  // namespace weft::ops::detail
