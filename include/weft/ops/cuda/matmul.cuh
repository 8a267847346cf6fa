// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products on a GPU, by cuBLASLt.
#pragma once

#include <algorithm>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/device/cuda.cuh>
#include <weft/ops/convert.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>

namespace weft::ops::detail {

//! cuBLASLt's matrices are column-major: what lies as C (M, N) row by row is C' (N, M) to it, and
//! C' = op(B)' op(A)'.
inline weft::detail::CublasProduct in_columns(const Product& p) {
  return {.transpose_a = p.transpose_b,
          .transpose_b = p.transpose_a,
          .rows = p.N,
          .columns = p.M,
          .inner = p.K,
          .lda = p.ldb(),
          .ldb = p.lda(),
          .ldd = p.N};
}

inline constexpr index_t least_rounded = 1024;

//! Whether the factors are rounded before they are multiplied, and not as they are read.
//!
//! To round one first moves 6 bytes a number. Of a factor that is read for N columns a
//! multiplication saves what tensor cores are faster at 16 bits that lie as such than at floats:
//! by an H100's data sheet (3.35 TB/s; 990 and 495 TFLOP/s) that is more from N = 890 on. Not
//! measured.
inline bool is_rounded_first(const Product& p) {
  return std::min({p.M, p.N, p.K}) >= least_rounded || p.rounded != ProductPrecision::float32;
}

//! What a factor of this shape is to be rounded to before its products. Its rows and columns are
//! two extents of each of them; the third, which is not known here, is as large in most layers.
inline ProductPrecision rounding(const Cuda& device, FactorShape shape) {
  return std::min(shape.rows, shape.columns) >= least_rounded ? device.product_precision()
                                                              : ProductPrecision::float32;
}

//! The product of factors that are rounded first.
template <class Rounded>
void multiply_rounded(Cuda& device, const Product& p, const float* bias) {
  const Converted<Rounded, Cuda> a(device, p.M * p.K, p.a, p.rounded_a);
  const Converted<Rounded, Cuda> b(device, p.K * p.N, p.b, p.rounded_b);
  device.multiply(in_columns(p), b.data(), a.data(), bias, p.c, p.accumulate);
}

//! The product with another bias than its own, or with none.
inline void multiply_with(Cuda& device, const Product& p, const float* bias) {
  if (p.K == 0) {
    if (!p.accumulate) device.clear(p.c, p.M * p.N * index_t{sizeof(float)});
    return;
  }
  const ProductPrecision precision = p.precision_on(device);
  if (precision == ProductPrecision::bfloat16 && is_rounded_first(p)) {
    multiply_rounded<Bfloat16>(device, p, bias);
  } else if (precision == ProductPrecision::float16 && is_rounded_first(p)) {
    multiply_rounded<Float16>(device, p, bias);
  } else {
    device.multiply(in_columns(p), p.b, p.a, bias, p.c, p.accumulate);
  }
}

inline void multiply(Cuda& device, const Product& p) {
  if (p.M == 0 || p.N == 0) return;
  const bool is_added = p.K > 0 && p.bias != nullptr && weft::detail::Cublas::adds(p.bias);
  multiply_with(device, p, is_added ? p.bias : nullptr);
  if (p.bias != nullptr && !is_added) {
    device.for_rows(p.M, p.N, AddBiasRow{p.bias, p.c, p.N});
  }
}

}  // namespace weft::ops::detail
