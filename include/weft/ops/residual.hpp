// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The residual connection around a branch. (With the layer norm behind it: layer_norm.hpp.)
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct ResidualRow {
  static constexpr bool is_by_element = true;
  static constexpr int row_blocks = 5;  // see cuda_rows.cuh
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  const float* x;
  AnyFloats<const void> branch;
  const float* branch_bias;  // may be null
  float* sum;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const {
    return simd::lie_in_quads(C, x, branch, branch_bias, sum);
  }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    mask.write(lanes, keys[n], C, sum + n * C, [&](auto c, auto factor) {
      auto value = simd::load(branch + n * C, c);
      if (branch_bias != nullptr) value += simd::load(branch_bias, c);
      return simd::load(x + n * C, c) + value * factor;
    });
  }
};

}  // namespace detail

//! sum = x + dropout(branch + branch_bias): the residual connection around a branch.
//!
//! **Shapes.** x, branch, sum: (N, C); sum may be x or branch. branch_bias: (C), or empty. keys:
//! (N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void residual(D& device, const DropoutMask& mask, View<const RowKey> keys, View<const float> x,
              const FactorView& branch, View<const float> branch_bias, View<float> sum) {
  detail::expect_shape("residual", "keys", keys.shape, {x.rows()});
  detail::expect_shape("residual", "branch", branch, x.shape);
  detail::expect_shape_if_given("residual", "branch_bias", branch_bias, {x.columns()});
  detail::expect_shape("residual", "sum", sum.shape, x.shape);
  device.for_rows(x.rows(), x.columns(),
                  detail::ResidualRow{mask, keys.data, x.data, branch.numbers, branch_bias.data,
                                      sum.data, x.columns()});
  detail::expect_finite(device, "residual", "sum", sum);
}

}  // namespace weft::ops
