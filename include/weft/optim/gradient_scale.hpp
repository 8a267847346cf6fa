// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a gradient is multiplied by in an update: one over the tokens and the loss's scale,
//! times what clipping asks for.
#pragma once

#include <cmath>
#include <limits>

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/optim/clip.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::optim {

namespace detail {

//! Code for a GPU may not call std::numeric_limits.
inline constexpr double largest_double = std::numeric_limits<double>::max();

}  // namespace detail

//! A gradient's size, and what it is multiplied by.
struct GradientScale {
  double squares = 0.0;  //!< the sum of the squares of the gradient of the *sum* of losses
  double factor = 0.0;   //!< 0 if nothing is to be changed
  float rounded = 0.0f;  //!< the factor, for `device_scale` of an optimizer's step
  //! Bytes that would be copied from a GPU without having been written, which memory checkers name.
  float unused = 0.0f;

  GradientScale() = default;

  //! The factor is 0 if `sum_of_squares` is not finite, or no token counts. `limit`: of the norm of
  //! the mean gradient, or 0. `loss_scale`: a power of two that the gradient was multiplied by.
  WEFT_HOST_DEVICE GradientScale(double sum_of_squares, index_t tokens, double limit,
                                 double loss_scale = 1.0)
      : squares(sum_of_squares / (loss_scale * loss_scale)) {
    if (tokens == 0 || !is_finite()) return;
    const auto count = static_cast<double>(tokens);
    factor = clip_factor(std::sqrt(squares) / count, limit) / count / loss_scale;
    rounded = static_cast<float>(factor);
  }

  //! Whether the gradient is.
  [[nodiscard]] WEFT_HOST_DEVICE bool is_finite() const {
    return squares <= detail::largest_double;
  }
};

namespace detail {

struct ScaleElement {
  const double* groups;
  index_t n;
  index_t tokens;
  double limit;
  double loss_scale;
  GradientScale* scale;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t) const {
    lanes.at(0, [&] {
      double squares = 0.0;
      for (index_t group = 0; group < n; ++group) squares += groups[group];
      *scale = GradientScale(squares, tokens, limit, loss_scale);
    });
  }
};

}  // namespace detail

//! Finds on a device what `GradientScale(ops::ordered_sum(sums), tokens, limit, loss_scale)` is, to
//! the bit.
//!
//! **Shapes.** sums: (blocks), of squares. scale: (1).
template <class D>
void find_gradient_scale(D& device, View<const double> sums, index_t tokens, double limit,
                         const Tensor<GradientScale, D>& scale, double loss_scale = 1.0) {
  const Tensor<double, D> groups = ops::group_sums(device, sums);
  device.for_rows(
      1, groups.size(),
      detail::ScaleElement{groups.data(), groups.size(), tokens, limit, loss_scale, scale.data()});
}

}  // namespace weft::optim
