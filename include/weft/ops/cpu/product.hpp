// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file One matrix product, and the part of it that a thread makes.
#pragma once

#include <weft/core/index.hpp>
#include <weft/device/product_precision.hpp>

//! Whether products are oneDNN's; 0 for weft's own. Found out unless it is defined before.
#if !defined(WEFT_ONEDNN)
#if __has_include(<dnnl.h>) && __has_include(<omp.h>)
#define WEFT_ONEDNN 1
#else
#define WEFT_ONEDNN 0
#endif
#endif

namespace weft::ops::detail {

//! One product C (M, N) = op(A) op(B) + beta C, and a bias (N) for each row; all matrices row-major
//! without gaps.
struct Product {
  bool transpose_a;  //!< A lies as (K, M)
  bool transpose_b;  //!< B lies as (N, K)
  index_t M, N, K;
  const float* a;
  const float* b;
  float* c;
  bool accumulate;
  const float* bias = nullptr;                           //!< null: none
  const void* rounded_a = nullptr;                       //!< instead of a: rounded before
  const void* rounded_b = nullptr;                       //!< instead of b
  ProductPrecision rounded = ProductPrecision::float32;  //!< what these were rounded to

  //! That of rounded factors, or else the device's.
  template <class D>
  [[nodiscard]] ProductPrecision precision_on(const D& device) const {
    return rounded != ProductPrecision::float32 ? rounded : device.product_precision();
  }
  //! Elements from one row of A to the next, as it lies.
  [[nodiscard]] index_t lda() const { return transpose_a ? M : K; }
  //! Elements from one row of B to the next, as it lies.
  [[nodiscard]] index_t ldb() const { return transpose_b ? K : N; }
};

//! Columns or rows `begin` to `end` - 1 of a product's result, with the leading dimensions of the
//! whole.
struct ProductPart {
  index_t row_begin, row_end, column_begin, column_end;

  [[nodiscard]] index_t rows() const { return row_end - row_begin; }
  [[nodiscard]] index_t columns() const { return column_end - column_begin; }

  //! Where its factors and its result begin.
  [[nodiscard]] index_t in_a(const Product& p) const {
    return p.transpose_a ? row_begin : row_begin * p.K;
  }
  [[nodiscard]] index_t in_b(const Product& p) const {
    return p.transpose_b ? column_begin * p.K : column_begin;
  }
  [[nodiscard]] index_t in_c(const Product& p) const { return row_begin * p.N + column_begin; }
};

}  // namespace weft::ops::detail
