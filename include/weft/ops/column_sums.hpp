// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums over rows: the gradient of a bias, and of a gain.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

//! Adds the rows in ascending order, each thread its own columns: the same bits for any team.
template <class Term>
void sum_columns(Cpu& device, index_t N, index_t C, float* sums, Write write, Term term) {
  const index_t units = (C + simd::width - 1) / simd::width;
  device.for_parts(units, 32768 / (simd::width * (N + 1)) + 1, [&](index_t begin, index_t end) {
    for (index_t unit = begin; unit < end; ++unit) {
      const index_t first = unit * simd::width;
      const auto add = [&](auto c) {
        simd::Floats total{};
        for (index_t n = 0; n < N; ++n) total += term(n, c);
        if (write == Write::accumulate) total += simd::load(sums, c);
        simd::store(sums, c, total);
      };
      if (first + simd::width <= C) {
        add(simd::Full{first});
      } else {
        add(simd::Tail{first, static_cast<int>(C - first)});
      }
    }
  });
}

//! Row n as it is.
struct RowTerm {
  const float* x;
  index_t C;

  template <class Column>
  WEFT_HOST_DEVICE auto operator()(index_t n, Column c) const {
    return simd::load(x + n * C, c);
  }
};

}  // namespace detail

//! sums[c] = sum over n of x[n, c], or += .
//!
//! **Shapes.** x: (N, C). sums: (C).
//! **Errors.** ShapeError unless they fit.
template <class D>
void column_sums(D& device, View<const float> x, View<float> sums, Write write = Write::replace) {
  detail::expect_shape("column_sums", "sums", sums.shape, {x.columns()});
  // Found beside the term: sum_columns of any device stands in the same namespace.
  sum_columns(device, x.rows(), x.columns(), sums.data, write,
              detail::RowTerm{x.data, x.columns()});
  detail::expect_finite(device, "column_sums", "sums", sums);
}

}  // namespace weft::ops
