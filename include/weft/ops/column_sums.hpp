// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums over rows: the gradient of a bias, and of a gain.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/unroll.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

//! Adds `count` vectors of columns from `first` on, row after row.
template <int count, class Term>
void sum_vectors(index_t first, index_t N, float* sums, Write write, const Term& term) {
  simd::Floats total[count] = {};
  for (index_t n = 0; n < N; ++n) {
    WEFT_UNROLL for (int v = 0; v < count; ++v) {
      total[v] += term(n, simd::Full{first + v * simd::width});
    }
  }
  WEFT_UNROLL for (int v = 0; v < count; ++v) {
    const simd::Full c{first + v * simd::width};
    simd::store(sums, c, write == Write::accumulate ? total[v] + simd::load(sums, c) : total[v]);
  }
}

//! Adds the rows in ascending order, each thread its own columns: the same bits for any team.
//!
//! Four vectors at a time: a sum waits for the one before, and a row's next columns are near.
template <class Term>
void sum_columns(Cpu& device, index_t N, index_t C, float* sums, Write write, Term term) {
  const index_t units = (C + simd::width - 1) / simd::width;
  device.for_parts(units, 32768 / (simd::width * (N + 1)) + 1, [&](index_t begin, index_t end) {
    index_t first = begin * simd::width;
    const index_t last = end * simd::width < C ? end * simd::width : C;
    for (; first + 4 * simd::width <= last; first += 4 * simd::width) {
      sum_vectors<4>(first, N, sums, write, term);
    }
    for (; first + simd::width <= last; first += simd::width) {
      sum_vectors<1>(first, N, sums, write, term);
    }
    if (first == last) return;
    const simd::Tail c{first, static_cast<int>(last - first)};
    simd::Floats total{};
    for (index_t n = 0; n < N; ++n) total += term(n, c);
    simd::store(sums, c, write == Write::accumulate ? total + simd::load(sums, c) : total);
  });
}

//! Row n as it is.
struct RowTerm {
  AnyFloats<const void> x;
  index_t stride;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(stride, x); }

  template <class Column>
  WEFT_HOST_DEVICE auto operator()(index_t n, Column c) const {
    return simd::load(x + n * stride, c);
  }
};

}  // namespace detail

//! sums[c] = sum over n of x[n, c], or += .
//!
//! **Shapes.** x: (N, C). sums: (C).
//! **Errors.** ShapeError unless they fit.
template <class D>
void column_sums(D& device, const FactorView& x, View<float> sums, Write write = Write::replace) {
  detail::expect_shape("column_sums", "sums", sums.shape, {x.columns()});
  // Found beside the term: sum_columns of any device stands in the same namespace.
  sum_columns(device, x.rows(), x.columns(), sums.data, write,
              detail::RowTerm{x.numbers, x.stride});
  detail::expect_finite(device, "column_sums", "sums", sums);
}

}  // namespace weft::ops
