// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A small matrix product in registers.
#pragma once

#include <type_traits>

#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_pairs.hpp>
#include <weft/ops/cpu/unroll.hpp>

namespace weft::ops::detail {

//! A matrix whose elements lie `row` apart down a column and `column` apart along a row, so that a
//! transposed matrix is the same memory with the two exchanged.
template <class T>
struct Strided {
  const T* data;
  index_t row;
  index_t column;

  [[nodiscard]] const T* at(index_t i, index_t k) const { return data + i * row + k * column; }
};

//! What is to be read after A: an element is asked for with each that is read of A, so that it
//! comes while products of A are added. All at once it held them up: 16 rows made 122 GFLOP/s, not
//! 169.
template <class T>
struct Following {
  const T* next;

  void ask(index_t i) const { __builtin_prefetch(next + i); }
  [[nodiscard]] Following from(index_t i) const { return {next + i}; }
};
//! Where what is read next is near anyway.
struct NothingFollows {
  static void ask(index_t) {}
  [[nodiscard]] static NothingFollows from(index_t) { return {}; }
};

//! R rows and V vectors of columns of C = A B, or C += A B, in R V vectors.
template <class Vector, int R, int V, class T, class Next>
[[gnu::always_inline]] inline void multiply_block(index_t K, Strided<T> a, const T* b, index_t ldb,
                                                  float* c, index_t ldc, bool accumulate,
                                                  Next next) {
  constexpr index_t columns = sizeof(Vector) / sizeof(float);
  using Factors = std::conditional_t<std::is_same_v<T, float>, Vector, simd::WordsFor<Vector>>;
  Vector sum[R][V] = {};
  for (index_t k = 0; k < K; ++k) {
    next.ask(k * R);
    Factors row[V];
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      row[v] = simd::load_all<Factors>(b + k * ldb + v * columns);
    }
    WEFT_UNROLL for (int r = 0; r < R; ++r) {
      const auto factor = simd::broadcast<Factors>(*a.at(r, k));
      WEFT_UNROLL for (int v = 0; v < V; ++v) {
        sum[r][v] = simd::multiply_add(factor, row[v], sum[r][v]);
      }
    }
  }
  WEFT_UNROLL for (int r = 0; r < R; ++r) {
    WEFT_UNROLL for (int v = 0; v < V; ++v) {
      float* const at = c + r * ldc + v * columns;
      simd::store_all(at, accumulate ? simd::load_all<Vector>(at) + sum[r][v] : sum[r][v]);
    }
  }
}

//! What a block takes of a machine's registers: `block_sums` vectors of 16 floats, and those of B
//! for up to `widest_block` times 16 columns. The 32 registers of AVX-512 hold 24 + 4 vectors, the
//! 16 of AVX2 six in pairs, a pair of B and a factor, those of SSE2 four in all. With 24 sums on
//! every machine they were pushed to memory in each step: attention took half as long again with
//! AVX2 (2.24 for 1.49 ms), a tenth longer with SSE2. Six with AVX2 make 7 % more than five.
inline constexpr int block_sums = WEFT_AVX512 ? 24 : simd::register_bytes == 32 ? 6 : 3;
inline constexpr int widest_block = WEFT_AVX512 ? 4 : 1;
//! Columns of the widest block.
inline constexpr index_t strip = 16 * widest_block;
//! What columns of floats come in multiples of: AVX2 and AVX-512 multiply half of a vector of 16.
inline constexpr index_t narrowest = simd::register_bytes >= 32 ? 8 : 16;
//! Vectors of 8 in a block of such columns: the 16 registers of AVX2 hold them, a row of B, a
//! factor.
inline constexpr int narrow_sums = 12;

//! All rows of V vectors of columns, in blocks of up to `sums` such vectors.
template <class Vector, int V, int sums, class T, class Next>
void multiply_panel(index_t M, index_t K, Strided<T> a, const T* b, index_t ldb, float* c,
                    index_t ldc, bool accumulate, Next next) {
  constexpr int R = sums / V > 12 ? 12 : sums / V;
  // Attention's tiles have any number of rows.
  constexpr bool takes_three = R > 3 && std::is_same_v<Next, NothingFollows>;
  index_t i = 0;
  const auto multiply = [&](auto rows) {
    constexpr int count = rows();
    for (; i + count <= M; i += count) {
      multiply_block<Vector, count, V>(K, {a.at(i, 0), a.row, a.column}, b, ldb, c + i * ldc, ldc,
                                       accumulate, next.from(i * K));
    }
  };
  multiply(std::integral_constant<int, R>());
  if constexpr (takes_three) multiply(std::integral_constant<int, 3>());
  multiply(std::integral_constant<int, 1>());
}

//! C = A B, or C += A B, for matrices that fit a cache.
//!
//! **Shapes.** a: (M, K). b: (K, N), rows `ldb` apart. c: (M, N), rows `ldc` apart; N a multiple of
//! `narrowest`. T is float, or Bfloat16Pair: two elements of each sum. The sum over K runs in
//! ascending order, so a row of c does not depend on M. `next` may be Following<T>.
template <class T, class Next = NothingFollows>
void multiply_tile(index_t M, index_t N, index_t K, std::type_identity_t<Strided<T>> a, const T* b,
                   index_t ldb, float* c, index_t ldc, bool accumulate, Next next = {}) {
  const auto multiply = [&](auto vectors, index_t j) {
    multiply_panel<simd::Floats, vectors(), block_sums>(M, K, a, b + j, ldb, c + j, ldc, accumulate,
                                                        next);
  };
  index_t j = 0;
  if constexpr (widest_block == 4) {
    for (; j + 64 <= N; j += 64) multiply(std::integral_constant<int, 4>(), j);
    if (N - j >= 48) {
      multiply(std::integral_constant<int, 3>(), j);
      j += 48;
    }
    for (; j + 32 <= N; j += 32) multiply(std::integral_constant<int, 2>(), j);
  }
  for (; j + 16 <= N; j += 16) multiply(std::integral_constant<int, 1>(), j);
  if constexpr (narrowest < 16) {
    if (j < N) {
      multiply_panel<simd::NarrowFloats, 1, narrow_sums>(M, K, a, b + j, ldb, c + j, ldc,
                                                         accumulate, next);
    }
  }
}

}  // namespace weft::ops::detail
