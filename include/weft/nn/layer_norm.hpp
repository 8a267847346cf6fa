// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Layer normalisation as a module.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! Normalises each row, then scales it by `weight` and shifts it by `bias`.
//!
//! **Shapes.** x, y: (N, C). weight, bias: (C).
template <index_t C>
struct LayerNorm {
  Parameter weight{.shape = {C}, .initializer = Initializer::constant(1.0f)};  //!< (C)
  Parameter bias{.shape = {C}};                                                //!< (C)

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
    visit("bias", self.bias);
  }

  template <class D>
  struct Saved {
    Tensor<float, D> x;
    Tensor<ops::RowMoments, D> moments;  //!< of each row
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    const index_t N = x.values.rows();
    Saved<D> saved{x.values, ctx.template empty<ops::RowMoments>({N})};
    Rows<C, D> y{ctx.empty({N, C}), x.layout};
    ops::layer_norm(ctx.device(), x.values, ctx.value(weight), ctx.value(bias), y.values,
                    saved.moments);
    return {std::move(y), std::move(saved)};
  }

  //! y = layer_norm(x + dropout(branch + branch_bias)) in one pass; `saved.x` is the sum.
  //!
  //! **Shapes.** x, branch: (N, C). branch_bias: (C), or empty.
  template <class D>
  [[nodiscard]] Result<Tensor<float, D>, Saved<D>> forward_residual(
      Context<D>& ctx, const Rows<C, D>& x, const ops::DropoutMask& mask,
      const Tensor<float, D>& branch, View<const float> branch_bias) const {
    const index_t N = x.values.rows();
    Saved<D> saved{ctx.empty({N, C}), ctx.template empty<ops::RowMoments>({N})};
    auto y = ctx.empty({N, C});
    ops::residual_layer_norm(ctx.device(), mask, x.layout->keys, x.values, branch, branch_bias,
                             saved.x, ctx.value(weight), ctx.value(bias), y, saved.moments);
    return {std::move(y), std::move(saved)};
  }

  template <class D>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    return {backward(ctx, std::move(saved), dy.values, {}), dy.layout};
  }

  //! The same, plus `dx_residual`: what reaches x past the normalisation (empty for nothing).
  template <class D>
  [[nodiscard]] Tensor<float, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                          const Tensor<float, D>& dy,
                                          View<const float> dx_residual) const {
    auto& device = ctx.device();
    ctx.gradient(weight, [&device, saved, dy](View<float> dgain, ops::Write write) {
      ops::layer_norm_gain_backward(device, saved.x, saved.moments, dy, dgain, write);
    });
    detail::bias_gradient(ctx, bias, dy);
    auto dx = ctx.empty(dy.shape());
    ops::layer_norm_backward(device, saved.x, ctx.value(weight), saved.moments, dy, dx_residual,
                             dx);
    return dx;
  }
};

static_assert(UnaryModule<LayerNorm<1>>);

}  // namespace weft::nn
