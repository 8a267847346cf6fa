// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What stands around a linear layer's products, which a GPU does as it writes them.
//!
//!     with a bias           y  = x w' + b                        linear
//!     before an activation  y  = dropout(activation(x w' + b))   linear_activation_dropout
//!     parameters' gradients dw = dy' x, db = the sums of dy      linear_gradients
#pragma once

#include <weft/ops/activation.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

//! Makes max(0, product + bias) in one pass and says so, on a device that can. Any device's own is
//! found beside the product.
template <class D>
bool multiply_relu(D&, const Product&) {
  return false;
}

//! Makes the product and the sums over rows of A, as it lies, in one pass and says so, on a device
//! that can.
template <class D>
bool multiply_and_sum(D&, const Product&, float*) {
  return false;
}

}  // namespace detail

//! y = x w' + bias.
//!
//! **Shapes.** x: (..., M, K). w: (N, K). bias: (N). y: (..., M, N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void linear(D& device, const FactorView& x, const FactorView& w, View<const float> bias,
            const FactorTarget& y) {
  detail::multiply_checked(
      device, "linear", "y", y,
      detail::checked_product("linear", x, false, w, true, y, Write::replace, bias));
}

//! y = dropout(activation(x w' + bias)), with x w' in `product`, which is undefined afterwards for
//! ReLU.
//!
//! **Shapes.** x: (M, K). w: (N, K). bias: (N). keys: (M). product, y: (M, N); they may be the same
//! for ReLU. **Errors.** ShapeError unless they fit.
template <Activation A, class D>
void linear_activation_dropout(D& device, const DropoutMask& mask, View<const RowKey> keys,
                               const FactorView& x, const FactorView& w, View<const float> bias,
                               const FactorTarget& product, const FactorTarget& y) {
  const char* const name = "linear_activation_dropout";
  // cuBLASLt's ReLU may make 0 of what is no number, which somebody looks for.
  if (A == Activation::relu && !mask.active() && !CheckFinite::on()) {
    const auto whole = detail::checked_product(name, x, false, w, true, y, Write::replace, bias);
    if (multiply_relu(device, whole)) return;
  }
  matmul_nt(device, x, w, product);
  bias_activation_dropout<A>(device, mask, keys, product, bias, y);
}

//! The gradients of a linear layer's weight and bias, written or added: dw = dy' x and db = the sum
//! of dy over rows.
//!
//! **Shapes.** dy: (M, N). x: (M, K). dw: (N, K). db: (N). **Errors.** ShapeError unless they fit.
template <class D>
void linear_gradients(D& device, const FactorView& dy, const FactorView& x, View<float> dw,
                      Write write_w, View<float> db, Write write_b) {
  const char* const name = "linear_gradients";
  const auto product = detail::checked_product(name, dy, true, x, false, dw, write_w);
  detail::expect_shape(name, "db", db.shape, {dy.columns()});
  const bool summed = write_w == write_b && multiply_and_sum(device, product, db.data);
  if (!summed) multiply(device, product);
  detail::expect_finite(device, name, "dw", dw);
  if (summed) {
    detail::expect_finite(device, name, "db", db);
  } else {
    column_sums(device, dy, db, write_b);
  }
}

}  // namespace weft::ops
