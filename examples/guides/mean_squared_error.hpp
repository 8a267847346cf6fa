// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A loss that weft lacks: the squared error of numbers.
// [include]
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/tensor/sequences.hpp>

#include <utility>

namespace guides {
// [include]

// [kernel]
//! losses[n] = (y[n] - target[n])^2; dy, unless it is null: the gradient of their sum, times scale.
struct SquaredErrorRow {
  const float* y;
  const float* target;
  float* losses;
  float* dy;
  float scale;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, weft::index_t n) const {
    lanes.at(0, [&] {
      const float error = y[n] - target[n];
      losses[n] = error * error;
      if (dy != nullptr) dy[n] = 2.0f * error * scale;
    });
  }
};
// [kernel]

// [loss]
//! The squared error of a number for each row, against float labels.
struct MeanSquaredError {
  //! What stands in a micro-batch beside the model's input: (N).
  template <class D>
  using Labels = weft::Tensor<float, D>;

  //! Made from the model, whose weights a loss may share.
  template <class Model>
  constexpr explicit MeanSquaredError(const Model&) {}

  //! It has no parameters.
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {
    weft::Tensor<float, D> dy;
  };

  //! The *sum* of the losses, and how many there are.
  template <class D>
  [[nodiscard]] weft::nn::Result<weft::parallel::LossSum, Saved<D>> forward(
      weft::nn::Context<D>& ctx, const weft::Rows<1, D>& y, const Labels<D>& target) const {
    const weft::index_t N = y.values.rows();
    weft::ops::detail::expect_shape("mean_squared_error", "target", target.shape(), {N});
    const auto losses = ctx.empty({N, 1});
    Saved<D> saved;
    if (ctx.training()) saved.dy = ctx.empty({N, 1});
    ctx.device().for_rows(N, 1,
                          SquaredErrorRow{y.values.data(), target.data(), losses.data(),
                                          saved.dy.data(), ctx.loss_scale()});
    const weft::parallel::LaterLoss<D> sum{losses, {}, weft::ops::ignore_nothing};
    return {sum, std::move(saved)};
  }

  //! The gradient of that sum for y.
  template <class D>
  [[nodiscard]] weft::Rows<1, D> backward(weft::nn::Context<D>&, Saved<D>&& saved,
                                          const weft::LayoutPointer<D>& layout) const {
    return {std::move(saved.dy), layout};
  }

  //! Its gradients are multiplied by ctx.loss_scale().
  static constexpr bool scales_gradients = true;
};

static_assert(weft::nn::Module<MeanSquaredError>);

}  // namespace guides
// [loss]
