// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether an array is what it should be, in one sentence.
#pragma once

#include <cmath>
#include <cstring>
#include <string>

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/matrix.hpp>

namespace weft::testing {

//! The largest relative error of rounding to float, 2^-24: bounds are multiples of it.
inline constexpr double unit_roundoff = 0x1p-24;

//! Empty if |is - should| <= bound in every element, else what is wrong with the worst one:
//! `CHECK(difference(y, reference, bounds) == "")`. A NaN is wrong wherever it stands.
//!
//! **Shapes.** is: (..., C) of N rows. should, bounds: (N, C).
template <class D>
[[nodiscard]] std::string difference(const Tensor<float, D>& is, const Matrix& should,
                                     const Matrix& bounds) {
  if (is.rows() != should.rows || is.columns() != should.columns) {
    return text("is ", is.shape(), ", should be (", should.rows, ", ", should.columns, ")");
  }
  const Matrix found = matrix(is);
  std::string worst;
  double largest_excess = 0.0;
  for (index_t r = 0; r < found.rows; ++r) {
    for (index_t c = 0; c < found.columns; ++c) {
      const double distance = std::abs(found(r, c) - should(r, c));
      if (distance <= bounds(r, c)) continue;
      const double excess = distance / bounds(r, c);
      if (excess <= largest_excess) continue;
      worst = text("element (", r, ", ", c, ") is ", found(r, c), ", should be ", should(r, c),
                   " to within ", bounds(r, c));
      if (std::isnan(excess)) return worst;
      largest_excess = excess;
    }
  }
  return worst;
}

//! The same with one bound for all elements.
template <class D>
[[nodiscard]] std::string difference(const Tensor<float, D>& is, const Matrix& should,
                                     double bound) {
  return difference(is, should, Matrix(should.rows, should.columns, bound));
}

//! Empty if two arrays have the same shape and the same bits, else where they first differ.
template <class D>
[[nodiscard]] std::string bit_difference(const Tensor<float, D>& a, const Tensor<float, D>& b) {
  if (a.shape() != b.shape()) return text("shapes ", a.shape(), " and ", b.shape());
  const std::vector<float> left = to_host(a), right = to_host(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (std::memcmp(&left[i], &right[i], sizeof(float)) != 0) {
      return text("element ", i, " of ", a.shape(), " is ", left[i], " and ", right[i]);
    }
  }
  return {};
}

}  // namespace weft::testing
