// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Adding rows, and moving them between arrays.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct AddRow {
  static constexpr bool is_by_element = true;

  const float* x;
  float* y;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    float* out = y + n * C;
    lanes.write(C, out, [&](auto c) { return simd::load(out, c) + simd::load(x + n * C, c); });
  }
};

struct AddBiasRow {
  static constexpr bool is_by_element = true;

  const float* bias;
  AnyFloats<void> y;
  index_t C;
  index_t stride;  // of y

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const AnyFloats<void> out = y + n * stride;
    lanes.write(C, out, [&](auto c) { return simd::load(out, c) + simd::load(bias, c); });
  }
};

struct CopyRow {
  static constexpr bool is_by_element = true;

  const index_t* from;  // may be null: row n itself
  const index_t* to;    // may be null: row n itself
  const float* x;
  AnyFloats<void> y;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* in = x + (from == nullptr ? n : from[n]) * C;
    const AnyFloats<void> out = y + (to == nullptr ? n : to[n]) * C;
    lanes.write(C, out, [&](auto c) { return simd::load(in, c); });
  }
};

template <class T>
struct GatherElement {
  const T* x;
  const index_t* index;
  T* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes, index_t n) const {
    y[n] = x[index[n]];
  }
};

}  // namespace detail

//! y = x. **Shapes.** x, y: (N, C). **Errors.** ShapeError unless they are equal.
template <class D>
void copy(D& device, View<const float> x, View<float> y) {
  detail::expect_shape("copy", "x", x.shape, y.shape);
  device.for_rows(y.rows(), y.columns(),
                  detail::CopyRow{nullptr, nullptr, x.data, y.data, y.columns()});
}

//! y += x. **Shapes.** x, y: (N, C). **Errors.** ShapeError unless they are equal.
template <class D>
void add(D& device, View<const float> x, View<float> y) {
  detail::expect_shape("add", "x", x.shape, y.shape);
  device.for_rows(y.rows(), y.columns(), detail::AddRow{x.data, y.data, y.columns()});
  detail::expect_finite(device, "add", "y", y);
}

//! y[n] += bias. **Shapes.** bias: (C). y: (N, C). **Errors.** ShapeError unless they fit.
template <class D>
void add_bias(D& device, View<const float> bias, View<float> y) {
  detail::expect_shape("add_bias", "bias", bias.shape, {y.columns()});
  device.for_rows(y.rows(), y.columns(),
                  detail::AddBiasRow{bias.data, y.data, y.columns(), y.columns()});
  detail::expect_finite(device, "add_bias", "y", y);
}

//! y[n] = x[index[n]].
//!
//! **Shapes.** x: (M, C). index: (N), each in 0 to M - 1. y: (N, C), which may be a `Factor`'s
//! target.
template <class D>
void gather_rows(D& device, View<const float> x, View<const index_t> index, const FactorTarget& y) {
  detail::expect_shape("gather_rows", "y", y, {index.size(), x.columns()});
  device.for_rows(y.rows(), y.columns(),
                  detail::CopyRow{index.data, nullptr, x.data, y.numbers, y.columns()});
  detail::expect_finite(device, "gather_rows", "y", y);
}

//! y[n] = x[index[n]] for single elements. **Shapes.** x: (M). index, y: (N).
template <class T, class D>
void gather(D& device, const Tensor<T, D>& x, const Tensor<index_t, D>& index,
            const Tensor<T, D>& y) {
  detail::expect_shape("gather", "y", y.shape(), index.shape());
  device.for_rows(y.size(), 1, detail::GatherElement<T>{x.data(), index.data(), y.data()});
}

//! y[index[n]] = x[n]: the adjoint of `gather_rows` where no index stands twice.
//!
//! **Shapes.** x: (N, C). index: (N), each in 0 to M - 1, all different. y: (M, C).
template <class D>
void scatter_rows(D& device, View<const float> x, View<const index_t> index, View<float> y) {
  detail::expect_shape("scatter_rows", "x", x.shape, {index.size(), y.columns()});
  device.for_rows(x.rows(), x.columns(),
                  detail::CopyRow{nullptr, index.data, x.data, y.data, x.columns()});
}

}  // namespace weft::ops
