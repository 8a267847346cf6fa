// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products on the CPU: with AVX-512 by oneDNN where its header is found, else weft's
//! own.
//!
//! The team splits a product and calls oneDNN with one thread each: left to itself, oneDNN's
//! result depends on the number of threads for a long K (seen at 1024 x 512 x 2048), and splitting
//! M or N in multiples of 64 is as fast. Link with `-ldnnl -lgomp`, or define WEFT_ONEDNN as 0.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <weft/core/bfloat16.hpp>
#include <weft/core/error.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/convert.hpp>
#include <weft/ops/cpu/blocked_product.hpp>
#include <weft/ops/cpu/few_rows.hpp>
#include <weft/ops/cpu/product.hpp>
#include <weft/ops/cpu/rounded_product.hpp>
#include <weft/ops/cpu/skinny_product.hpp>
#include <weft/ops/cpu/tile.hpp>
#include <weft/ops/rows.hpp>

#if WEFT_ONEDNN
#include <weft/ops/cpu/onednn_product.hpp>
#endif

namespace weft::ops::detail {

//! Whether each row of B is read but once, and as it lies.
inline bool has_few_rows(const Product& p) {
  return p.transpose_b && !p.transpose_a && p.M <= most_few_rows;
}

//! Whether products of many rows are weft's own: without oneDNN, and where both have AVX2. A
//! program compiled for less than AVX2 has narrower tiles, which were not measured. With AVX-512
//! oneDNN 2.6 is faster: 106 GFLOP/s on one thread of a Zen 4, weft 98 (the mean of 24 products;
//! see decision 0019).
inline bool multiplies_itself() {
#if WEFT_ONEDNN
  return simd::register_bytes >= 32 && !onednn_has_avx512();
#else
  return true;
#endif
}

//! Few rows by kernels that do not copy B; the second one has the bits of the products of many rows
//! that are made here, or by oneDNN with AVX-512. A single column has another order of sums there.
inline void multiply_part(Cpu& device, const Product& p, ProductPart part) {
  const bool reads_once = p.transpose_b && !p.transpose_a;
  const float* const a = p.a.floats() + part.in_a(p);
  const float* const b = p.b.floats() + part.in_b(p);
  float* const c = p.c.floats() + part.in_c(p);
  if (has_few_rows(p)) {
    multiply_few_rows(part.rows(), part.columns(), p.K, a, p.K, b, p.K, c, p.N, p.accumulate);
  } else if (reads_once && p.M <= most_skinny_rows && (WEFT_AVX512 || multiplies_itself())) {
    multiply_skinny(device, part.rows(), part.columns(), p.K, a, p.K, b, p.K, c, p.N, p.accumulate);
  } else if (multiplies_itself() || part.columns() == 1) {
    multiply_blocked(device, p, part);
  } else {
#if WEFT_ONEDNN
    multiply_by_onednn(device, p, part);
#endif
  }
}

//! Cuts the longer side of the result into pieces of `unit`, of which the last takes the rest too,
//! and calls `f(part)` on the team: for parts of several pieces, or for each of them.
template <class F>
void for_product_parts(Cpu& device, const Product& p, index_t unit, bool piece_by_piece,
                       const F& f) {
  constexpr index_t smallest_share = index_t{1} << 19;  // multiplications: some 5 us
  constexpr index_t of_a_load = 16;  // multiplications that take as long as a number from memory
  const bool by_rows = p.M >= p.N;
  const index_t length = by_rows ? p.M : p.N;
  const index_t units = length < unit ? 1 : length / unit;
  const index_t uses = std::max(by_rows ? p.N : p.M, of_a_load);
  const index_t grain = smallest_share / (unit * uses * p.K + 1) + 1;
  const auto call = [&](index_t begin, index_t end) {
    const index_t first = begin * unit;
    const index_t last = end == units ? length : end * unit;
    f(by_rows ? ProductPart{first, last, 0, p.N} : ProductPart{0, p.M, first, last});
  };
  device.for_parts(units, grain, [&](index_t begin, index_t end) {
    if (!piece_by_piece) return call(begin, end);
    for (index_t piece = begin; piece < end; ++piece) call(piece, piece + 1);
  });
}

//! The same bits on any team: how an element is summed depends on K alone.
inline void multiply_floats(Cpu& device, const Product& p) {
  for_product_parts(device, p, 64, false,
                    [&](ProductPart part) { multiply_part(device, p, part); });
}

#if WEFT_AVX512_BF16
//! The product of up to `most_skinny_rows` rows of an even number of elements.
inline void multiply_pairs(Cpu& device, const Product& p, const Bfloat16* a, const Bfloat16* b) {
  const index_t K = p.K / 2;
  const auto* const left = reinterpret_cast<const simd::Bfloat16Pair*>(a);
  const auto* const right = reinterpret_cast<const simd::Bfloat16Pair*>(b);
  for_product_parts(device, p, 64, false, [&](ProductPart part) {
    const simd::Bfloat16Pair* const rows_of_a = left + part.row_begin * K;
    const simd::Bfloat16Pair* const rows_of_b = right + part.column_begin * K;
    float* const c = p.c.floats() + part.in_c(p);
    if (p.M <= most_few_rows) {
      multiply_few_rows(part.rows(), part.columns(), K, rows_of_a, K, rows_of_b, K, c, p.N,
                        p.accumulate);
    } else {
      multiply_skinny(device, part.rows(), part.columns(), K, rows_of_a, K, rows_of_b, K, c, p.N,
                      p.accumulate);
    }
  });
}
#endif

//! The product of few rows, where numbers of B become floats as they are read: they come from
//! memory in half the time.
template <class Rounded>
void multiply_widened_rows(Cpu& device, const Product& p, const Rounded* a, const Rounded* b) {
  const Converted<float, Cpu> left(device, p.M * p.K, a);
  for_product_parts(device, p, 64, false, [&](ProductPart part) {
    multiply_few_rows(part.rows(), part.columns(), p.K, left.data() + part.in_a(p), p.K,
                      b + part.in_b(p), p.K, p.c.floats() + part.in_c(p), p.N, p.accumulate);
  });
}

//! The same product of factors that are rounded to Bfloat16 or Float16: of Bfloat16 where the
//! processor multiplies them, else of the rounded floats.
//!
//! oneDNN's kernel for Bfloat16 depends on the size of a part, so that the pieces are the same on
//! any team.
template <class Rounded>
void multiply_rounded(Cpu& device, const Product& p) {
  const Converted<Rounded, Cpu> a(device, p.M * p.K, p.a);
  const Converted<Rounded, Cpu> b(device, p.K * p.N, p.b);
#if WEFT_AVX512_BF16
  if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    if (p.transpose_b && !p.transpose_a && p.M <= most_skinny_rows && p.K % 2 == 0) {
      return multiply_pairs(device, p, a.data(), b.data());
    }
  }
#endif
  if (has_few_rows(p)) return multiply_widened_rows(device, p, a.data(), b.data());
#if WEFT_ONEDNN
  if constexpr (std::is_same_v<Rounded, Bfloat16>) {
    if (multiplies_bfloat16()) {
      return for_product_parts(device, p, 256, true, [&](ProductPart part) {
        multiply_part(p, a.data(), b.data(), part);
      });
    }
  }
#endif
  const Converted<float, Cpu> wide_a(device, p.M * p.K, a.data());
  const Converted<float, Cpu> wide_b(device, p.K * p.N, b.data());
  Product wide = p;
  wide.a = wide_a.data();
  wide.b = wide_b.data();
  multiply_floats(device, wide);
}

inline void multiply_without_bias(Cpu& device, const Product& p) {
  if (p.K == 0) {
    const std::size_t bytes = static_cast<std::size_t>(p.M * p.N) * sizeof(float);
    if (!p.accumulate) std::memset(p.c.data, 0, bytes);
    return;
  }
  switch (p.factor_type_on(device)) {
    case FloatType::bfloat16:
      return multiply_rounded<Bfloat16>(device, p);
    case FloatType::float16:
      return multiply_rounded<Float16>(device, p);
    case FloatType::float32:
      return multiply_floats(device, p);
  }
}

inline void multiply(Cpu& device, const Product& p) {
  if (p.M == 0 || p.N == 0) return;
  if (p.has_gaps()) throw Error("a product of rows with gaps between them, on a processor");
  if (p.c.rounded()) return multiply_and_round(device, p);
  multiply_without_bias(device, p);
  if (p.bias != nullptr) device.for_rows(p.M, p.N, AddBiasRow{p.bias, p.c, p.N, p.ldc});
}

}  // namespace weft::ops::detail
