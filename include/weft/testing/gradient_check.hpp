// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Gradients by central differences, and whether a gradient agrees with them.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>
#include <weft/testing/matrix.hpp>

namespace weft::testing {

//! The gradient of f, a function of a matrix in double, at x: (f(x + h e) - f(x - h e)) / 2h for
//! every element e.
//!
//! For smooth functions of numbers near 1 the error is some 1e-10: h^2 / 6 of the third derivative
//! and 1e-16 / h of f.
template <class F>
[[nodiscard]] Matrix central_differences(F f, Matrix x, double h = 1e-5) {
  Matrix gradient(x.rows, x.columns);
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const double centre = x.elements[i];
    x.elements[i] = centre + h;
    const double above = f(x);
    x.elements[i] = centre - h;
    const double below = f(x);
    x.elements[i] = centre;
    gradient.elements[i] = (above - below) / (2.0 * h);
  }
  return gradient;
}

//! Empty if `gradient` is that of `loss()` with respect to `values`, else the first element where
//! it is not. For modules and operations in float: `loss` computes forward from `values`.
//!
//! The slope s in each element is measured with steps h and h / 2 and extrapolated,
//!
//!     s = (4 s(h / 2) - s(h)) / 3,
//!
//! so that h may be large and rounding matters little. An element may differ by |s(h / 2) - s(h)|,
//! which exceeds the error of truncation, plus 3 noise / h, where `noise` bounds the rounding error
//! of one loss: at most 3 times that error reaches s, the gradient's own being far smaller.
//!
//! That holds of a loss that is smooth within h. A corner nearer than h / 3, as those of ReLUs, or
//! values that are small beside h and normalised, as embeddings of deviation 0.02 in front of a
//! layer norm, make a right gradient differ; with a smaller h it does not, while a wrong one does.
//!
//! **Shapes.** values, gradient: (n); `values` are changed and restored.
//! **Cost.** 4 n losses: pass a part of a large buffer.
//! **Errors.** ShapeError unless the sizes are equal.
template <class Loss>
[[nodiscard]] std::string gradient_difference(std::span<float> values,
                                              std::span<const float> gradient, Loss loss,
                                              double noise, float h = 0x1p-5f) {
  if (values.size() != gradient.size()) {
    throw ShapeError(text("gradient_difference: ", values.size(), " values and ", gradient.size(),
                          " elements of the gradient"));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float centre = values[i];
    const auto slope = [&](float step) {
      const float up = centre + step;
      const float down = centre - step;
      values[i] = up;
      const double above = static_cast<double>(loss());
      values[i] = down;
      const double below = static_cast<double>(loss());
      values[i] = centre;
      return (above - below) / (static_cast<double>(up) - static_cast<double>(down));
    };
    const double wide = slope(h);
    const double narrow = slope(h / 2);
    const double expected = (4.0 * narrow - wide) / 3.0;
    const double bound = std::abs(narrow - wide) + 3.0 * noise / static_cast<double>(h);
    const double found = static_cast<double>(gradient[i]);
    if (!(std::abs(found - expected) <= bound)) {
      return text("the gradient's element ", i, " is ", found, ", should be ", expected,
                  " to within ", bound);
    }
  }
  return {};
}

}  // namespace weft::testing
