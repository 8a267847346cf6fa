// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrices of doubles, which reference operations take and give.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::testing {

//! R rows of C doubles. Slow and plain: an oracle has to be seen to be right.
struct Matrix {
  index_t rows = 0;              //!< R
  index_t columns = 0;           //!< C
  std::vector<double> elements;  //!< row by row

  Matrix() = default;
  //! All elements are `value`.
  Matrix(index_t R, index_t C, double value = 0.0)
      : rows(R), columns(C), elements(static_cast<std::size_t>(R * C), value) {}

  //! R C.
  [[nodiscard]] index_t size() const { return rows * columns; }

  //! The element of a row and a column.
  [[nodiscard]] double& operator()(index_t r, index_t c) {
    return elements[static_cast<std::size_t>(r * columns + c)];
  }
  //! The element of a row and a column.
  [[nodiscard]] double operator()(index_t r, index_t c) const {
    return elements[static_cast<std::size_t>(r * columns + c)];
  }
};

//! A matrix whose element (r, c) is f(r, c).
template <class F>
[[nodiscard]] Matrix matrix(index_t R, index_t C, F f) {
  Matrix result(R, C);
  for (index_t r = 0; r < R; ++r) {
    for (index_t c = 0; c < C; ++c) result(r, c) = f(r, c);
  }
  return result;
}

//! The elements of a tensor (..., C) as (N, C).
template <class D>
[[nodiscard]] Matrix matrix(const Tensor<float, D>& tensor) {
  const std::vector<float> values = to_host(tensor);
  Matrix result(tensor.rows(), tensor.columns());
  result.elements.assign(values.begin(), values.end());
  return result;
}

//! Its elements' absolute values: error bounds are sums of these.
[[nodiscard]] inline Matrix magnitudes(const Matrix& a) {
  return matrix(a.rows, a.columns, [&](index_t r, index_t c) { return std::abs(a(r, c)); });
}

//! Rows `r` to r + R - 1 and columns `c` to c + C - 1.
[[nodiscard]] inline Matrix block(const Matrix& a, index_t r, index_t R, index_t c, index_t C) {
  return matrix(R, C, [&](index_t i, index_t j) { return a(r + i, c + j); });
}

//! a'. **Shapes.** a: (R, C). Returns (C, R).
[[nodiscard]] inline Matrix transposed(const Matrix& a) {
  return matrix(a.columns, a.rows, [&](index_t r, index_t c) { return a(c, r); });
}

//! a b. **Shapes.** a: (M, K). b: (K, N).
[[nodiscard]] inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t k = 0; k < a.columns; ++k) {
      for (index_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

//! The sum of the products of the elements: <a, b> in the laws of adjoints.
[[nodiscard]] inline double inner(const Matrix& a, const Matrix& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.elements.size(); ++i) sum += a.elements[i] * b.elements[i];
  return sum;
}

}  // namespace weft::testing
