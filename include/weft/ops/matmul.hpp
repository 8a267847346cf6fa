// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products: the three that a linear layer needs, forward and backward.
//!
//!     forward          y  = x w'    matmul_nt   (M, K) (N, K) -> (M, N)
//!     input gradient   dx = dy w    matmul_nn   (M, N) (N, K) -> (M, K)
//!     weight gradient  dw = dy' x   matmul_tn   (M, N) (M, K) -> (N, K)
//!
//! A factor is a view or a tensor of floats, or a `Factor`, which was rounded once for several
//! products. What was rounded decides a product's precision, where nothing was the device does. The
//! result may be a `Factor`'s target: it is then rounded once its sums are complete.
#pragma once

#include <weft/core/error.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/matmul.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

//! **Errors.** ShapeError unless the extents fit; Error if the factors were rounded to different
//! types, or sums are to be added to rounded ones.
inline Product checked_product(const char* name, const FactorView& a, bool transpose_a,
                               const FactorView& b, bool transpose_b, const FactorTarget& c,
                               Write write, View<const float> bias = {}) {
  const index_t M = transpose_a ? a.columns() : a.rows();
  const index_t K = transpose_a ? a.rows() : a.columns();
  const index_t N = transpose_b ? b.rows() : b.columns();
  if ((transpose_b ? b.columns() : b.rows()) != K || c.rows() != M || c.columns() != N) {
    throw ShapeError(text(name, ": ", a.shape, " and ", b.shape, " do not give ", c.shape));
  }
  expect_shape_if_given(name, "bias", bias, {N});
  if (a.numbers.rounded() && b.numbers.rounded() && a.numbers.type != b.numbers.type) {
    throw Error(text(name, ": the factors were rounded to ", a.numbers.type, " and ",
                     b.numbers.type,
                     ": a device's product precision may change between steps only"));
  }
  const bool accumulates = write == Write::accumulate;
  if (accumulates && c.numbers.rounded()) {
    throw Error(text(name, ": c is ", c.numbers.type, ": sums are added as floats"));
  }
  return {transpose_a, transpose_b, M,        N,        K,           a.numbers, b.numbers,
          c.numbers,   a.stride,    b.stride, c.stride, accumulates, bias.data};
}

template <class D>
void multiply_checked(D& device, const char* name, const char* result, const FactorTarget& c,
                      const Product& product) {
  multiply(device, product);
  expect_finite(device, name, result, c);
}

}  // namespace detail

//! c = a b', or c += a b'.
//!
//! **Shapes.** a: (..., M, K). b: (N, K). c: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_nt(D& device, const FactorView& a, const FactorView& b, const FactorTarget& c,
               Write write = Write::replace) {
  detail::multiply_checked(device, "matmul_nt", "c", c,
                           detail::checked_product("matmul_nt", a, false, b, true, c, write));
}

//! c = a b, or c += a b.
//!
//! **Shapes.** a: (..., M, K). b: (K, N). c: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_nn(D& device, const FactorView& a, const FactorView& b, const FactorTarget& c,
               Write write = Write::replace) {
  detail::multiply_checked(device, "matmul_nn", "c", c,
                           detail::checked_product("matmul_nn", a, false, b, false, c, write));
}

//! c = a' b, or c += a' b.
//!
//! **Shapes.** a: (..., K, M). b: (..., K, N). c: (M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_tn(D& device, const FactorView& a, const FactorView& b, const FactorTarget& c,
               Write write = Write::replace) {
  detail::multiply_checked(device, "matmul_tn", "c", c,
                           detail::checked_product("matmul_tn", a, true, b, false, c, write));
}

}  // namespace weft::ops
