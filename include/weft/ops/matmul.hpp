// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products: the three that a linear layer needs, forward and backward.
//!
//!     forward          y  = x w'    matmul_nt   (M, K) (N, K) -> (M, N)
//!     input gradient   dx = dy w    matmul_nn   (M, N) (N, K) -> (M, K)
//!     weight gradient  dw = dy' x   matmul_tn   (M, N) (M, K) -> (N, K)
//!     with a bias      y = x w' + b linear      (M, K) (N, K) (N) -> (M, N)
//!
//! A factor is a view or a tensor of floats, or a `Factor`, which was rounded once for several
//! products. What was rounded decides a product's precision, where nothing was the device does.
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

template <class D>
void checked_product(D& device, const char* name, const FactorView& a, bool transpose_a,
                     const FactorView& b, bool transpose_b, View<float> c, Write write,
                     View<const float> bias = {}) {
  const index_t M = transpose_a ? a.columns() : a.rows();
  const index_t K = transpose_a ? a.rows() : a.columns();
  const index_t N = transpose_b ? b.rows() : b.columns();
  if ((transpose_b ? b.columns() : b.rows()) != K || c.rows() != M || c.columns() != N) {
    throw ShapeError(text(name, ": ", a.shape, " and ", b.shape, " do not give ", c.shape));
  }
  expect_shape_if_given(name, "bias", bias, {N});
  if (a.rounded != nullptr && b.rounded != nullptr && a.precision != b.precision) {
    throw Error(text(name, ": the factors were rounded to ", a.precision, " and ", b.precision,
                     ": a device's product precision may change between steps only"));
  }
  multiply(device, Product{transpose_a, transpose_b, M, N, K, a.floats, b.floats, c.data,
                           write == Write::accumulate, bias.data, a.rounded, b.rounded,
                           a.rounded != nullptr ? a.precision : b.precision});
  expect_finite(device, name, "c", c);
}

}  // namespace detail

//! c = a b', or c += a b'.
//!
//! **Shapes.** a: (..., M, K). b: (N, K). c: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_nt(D& device, const FactorView& a, const FactorView& b, View<float> c,
               Write write = Write::replace) {
  detail::checked_product(device, "matmul_nt", a, false, b, true, c, write);
}

//! c = a b, or c += a b.
//!
//! **Shapes.** a: (..., M, K). b: (K, N). c: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_nn(D& device, const FactorView& a, const FactorView& b, View<float> c,
               Write write = Write::replace) {
  detail::checked_product(device, "matmul_nn", a, false, b, false, c, write);
}

//! c = a' b, or c += a' b.
//!
//! **Shapes.** a: (..., K, M). b: (..., K, N). c: (M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void matmul_tn(D& device, const FactorView& a, const FactorView& b, View<float> c,
               Write write = Write::replace) {
  detail::checked_product(device, "matmul_tn", a, true, b, false, c, write);
}

//! c = a b' + bias: on a GPU in one pass.
//!
//! **Shapes.** a: (..., M, K). b: (N, K). bias: (N). c: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void linear(D& device, const FactorView& a, const FactorView& b, View<const float> bias,
            View<float> c) {
  detail::checked_product(device, "linear", a, false, b, true, c, Write::replace, bias);
}

}  // namespace weft::ops
