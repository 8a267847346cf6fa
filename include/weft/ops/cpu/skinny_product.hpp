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
//! AVX2, on a Zen 4, 64 rows of 28,782 weights make 87 GFLOP/s, weft's product that copies them 67,
//! oneDNN 73; 200 rows 95, 92 and 85.
inline constexpr index_t most_skinny_rows = WEFT_AVX512 ? 128 : 192;

//! C = A B', or C += A B', as C' = B A': A, which is small, is transposed, and B, which is large,
//! is read as it lies and once. oneDNN copies B first, and reaches 29 to 43 GFLOP/s with 16 rows
//! and 54 to 84 with 64 where this reached 55 to 68 and 85 to 94. The rows of B that follow are
//! asked for meanwhile: on another processor, 150 to 165 GFLOP/s became 220 to 240 with 64 rows,
//! 106 became 165 with 16.
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
  const Tensor<T> transposed(device, {K, width});
  const Tensor<float> memory(device, {rows_of_b, width});
  T* const columns = transposed.data();
  float* const result = memory.data();
  const index_t step = std::is_same_v<T, float> ? summed_at_a_time(K) : K;
  transpose_and_pad(M, K, a, lda, columns, width);
  for (index_t n = 0; n < N; n += rows_of_b) {
    const index_t count = N - n < rows_of_b ? N - n : rows_of_b;
    float* const out = c + n;
    if (accumulate) transpose_and_pad<float>(M, count, out, ldc, result, width);
    for (index_t k = 0; k < K; k += step) {
      multiply_tile(count, width, std::min(step, K - k), {b + n * ldb + k, ldb, 1},
                    columns + k * width, width, result, width, accumulate || k > 0,
                    Following<T>{b + (n + rows_of_b) * ldb + k * rows_of_b});
    }
    for (index_t m = 0; m < M; m += rows_of_c) {
      transpose<float>(count, std::min(M - m, rows_of_c), result + m, width, out + m * ldc, ldc);
    }
  }
}

}  // namespace weft::ops::detail
