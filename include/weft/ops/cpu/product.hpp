// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file One matrix product, and the part of it that a thread makes.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/factor.hpp>

//! Whether products are oneDNN's; 0 for weft's own. Found out unless it is defined before.
#if !defined(WEFT_ONEDNN)
#if __has_include(<dnnl.h>) && __has_include(<omp.h>)
#define WEFT_ONEDNN 1
#else
#define WEFT_ONEDNN 0
#endif
#endif

namespace weft::ops::detail {

//! One product C (M, N) = op(A) op(B) + beta C, and a bias (N) for each row; all matrices
//! row-major.
struct Product {
  bool transpose_a;  //!< A lies as (K, M)
  bool transpose_b;  //!< B lies as (N, K)
  index_t M, N, K;
  AnyFloats<const void> a;
  AnyFloats<const void> b;
  AnyFloats<void> c;
  index_t lda, ldb, ldc;  //!< elements from row to row of each, as it lies
  bool accumulate;
  const float* bias = nullptr;  //!< null: none

  //! What both factors are rounded to: that of one which was before, or else the device's.
  template <class D>
  [[nodiscard]] FloatType factor_type_on(const D& device) const {
    return a.rounded() ? a.type : b.rounded() ? b.type : factor_type(device);
  }
  //! Whether something lies between the rows of a matrix.
  [[nodiscard]] bool has_gaps() const {
    return lda != (transpose_a ? M : K) || ldb != (transpose_b ? K : N) || ldc != N;
  }
  //! How many numbers A takes, as it lies, up to the last one of its last row; it has a row.
  [[nodiscard]] index_t size_a() const {
    return ((transpose_a ? K : M) - 1) * lda + (transpose_a ? M : K);
  }
  //! The same of B.
  [[nodiscard]] index_t size_b() const {
    return ((transpose_b ? N : K) - 1) * ldb + (transpose_b ? K : N);
  }
};

//! A product whose sums are floats of their own before they are rounded: where modules ask for it,
//! on a GPU, it rounds by itself.
template <class D>
void multiply_and_round(D& device, const Product& p) {
  if (p.ldc != p.N) throw Error("a product that is rounded apart, of rows with gaps between them");
  const Tensor<float, D> sums(device, {p.M, p.N});
  Product of_floats = p;
  of_floats.c = sums.data();
  of_floats.ldc = p.N;
  multiply(device, of_floats);
  convert(device, sums.size(), sums.data(), p.c);
}

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
