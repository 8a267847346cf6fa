// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Normalisation of rows as a module.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! Normalises each row, then scales it by `weight` and shifts it by `bias`; without centring (see
//! `RmsNorm`) it has no bias.
//!
//! **Shapes.** x, y: (N, C). weight, bias: (C). 10 to the power `EpsilonPower` is added to each
//! row's variance.
template <index_t C, ops::Centring Centre = ops::Centring::mean, int EpsilonPower = -5>
struct LayerNorm {
  static_assert(
      EpsilonPower >= -20 && EpsilonPower <= 0,
      "a norm adds between 1e-20 and 1 to a variance: LayerNorm<C, Centre, -5> adds 1e-5");
  Parameter weight{.shape = {C}, .initializer = Initializer::constant(1.0f)};  //!< (C)
  Parameter bias{.shape = {C}};  //!< (C); unused without centring

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
    if constexpr (has_bias) visit("bias", self.bias);
  }

  template <class D>
  struct Saved {
    Tensor<float, D> x;
    Tensor<ops::RowMoments, D> moments;  //!< of each row
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
    auto saved = forward_to(ctx, x, y.values);
    return {std::move(y), std::move(saved)};
  }

  //! The same for a branch whose products alone read the result.
  template <class D>
  [[nodiscard]] Result<FactorRows<C, D>, Saved<D>> forward_factor(Context<D>& ctx,
                                                                  const Rows<C, D>& x) const {
    FactorRows<C, D> y{ops::Factor<D>(ctx.device(), x.values.shape()), x.layout};
    auto saved = forward_to(ctx, x, y.values.target());
    return {std::move(y), std::move(saved)};
  }

  //! y = layer_norm(x + dropout(branch + branch_bias)) in one pass, which writes y to a `factor`
  //! too, unless that is empty; `saved.x` is the sum.
  //!
  //! **Shapes.** x, branch, factor: (N, C). branch_bias: (C), or empty.
  template <class D>
  [[nodiscard]] Result<Tensor<float, D>, Saved<D>> forward_residual(
      Context<D>& ctx, const Rows<C, D>& x, const ops::DropoutMask& mask,
      const ops::FactorView& branch, View<const float> branch_bias,
      const ops::FactorTarget& factor = {}) const {
    auto y = ctx.empty(x.values.shape());
    auto saved = forward_residual_to(ctx, x, mask, branch, branch_bias, y, factor);
    return {std::move(y), std::move(saved)};
  }

  //! The same for a branch whose products alone read y.
  template <class D>
  [[nodiscard]] Result<FactorRows<C, D>, Saved<D>> forward_residual_factor(
      Context<D>& ctx, const Rows<C, D>& x, const ops::DropoutMask& mask,
      const ops::FactorView& branch, View<const float> branch_bias) const {
    FactorRows<C, D> y{ops::Factor<D>(ctx.device(), x.values.shape()), x.layout};
    auto saved = forward_residual_to(ctx, x, mask, branch, branch_bias, y.values.target(), {});
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
    auto dx = ctx.empty(dy.shape());
    parameter_gradients(ctx,
                        ops::layer_norm_backward<Centre>(ctx.device(), saved.x, ctx.value(weight),
                                                         saved.moments, dy, dx_residual, dx));
    return dx;
  }

  //! The way back through `forward_residual`: the gradient of x, and in the same pass that of the
  //! branch, for which there is room. `dx_residual`: what reaches the sum past the normalisation
  //! (empty for nothing).
  //!
  //! **Shapes.** dy, dx_residual, dbranch: (N, C).
  template <class D>
  [[nodiscard]] Tensor<float, D> backward_residual(Context<D>& ctx, Saved<D>&& saved,
                                                   const ops::DropoutMask& mask,
                                                   View<const RowKey> keys,
                                                   const Tensor<float, D>& dy,
                                                   View<const float> dx_residual,
                                                   const ops::Factor<D>& dbranch) const {
    auto dx = ctx.empty(dy.shape());
    parameter_gradients(ctx, ops::residual_layer_norm_backward<Centre>(
                                 ctx.device(), mask, keys, saved.x, ctx.value(weight),
                                 saved.moments, dy, dx_residual, dx, dbranch.target()));
    return dx;
  }

 private:
  static constexpr bool has_bias = Centre == ops::Centring::mean;
  static constexpr float epsilon = [] {
    double divisor = 1.0;  // exact, up to 1e22
    for (int power = EpsilonPower; power < 0; ++power) divisor *= 10.0;
    return static_cast<float>(1.0 / divisor);
  }();

  template <class D>
  [[nodiscard]] View<const float> shift(const Context<D>& ctx) const {
    if constexpr (has_bias) return ctx.value(bias);
    return {};
  }

  //! From the sums of blocks of rows, (blocks, 2 C) with a bias. It is declared behind the weight:
  //! their gradients are one.
  template <class D>
  void parameter_gradients(Context<D>& ctx, const Tensor<float, D>& sums) const {
    if constexpr (!has_bias) {
      detail::bias_gradient(ctx, weight, sums);
    } else if (weight.trained && bias.trained) {
      detail::bias_gradient(ctx, joined(weight, bias), sums);
    } else {
      const auto half = [&](const Parameter& parameter, index_t first) {
        ctx.gradient(parameter, [&device = ctx.device(), sums, first](View<float> gradient,
                                                                      ops::Write write) {
          const AnyFloats<const void> numbers(sums.data() + first);
          ops::column_sums(device, {numbers, {sums.rows(), C}, 2 * C}, gradient, write);
        });
      };
      half(weight, 0);
      half(bias, C);
    }
  }

  template <class D>
  [[nodiscard]] Saved<D> forward_to(Context<D>& ctx, const Rows<C, D>& x,
                                    const ops::FactorTarget& y) const {
    Saved<D> saved{x.values, ctx.template empty<ops::RowMoments>({x.values.rows()})};
    ops::layer_norm<Centre>(ctx.device(), x.values, ctx.value(weight), shift(ctx), y, saved.moments,
                            epsilon);
    return saved;
  }

  template <class D>
  [[nodiscard]] Saved<D> forward_residual_to(Context<D>& ctx, const Rows<C, D>& x,
                                             const ops::DropoutMask& mask,
                                             const ops::FactorView& branch,
                                             View<const float> branch_bias,
                                             const ops::FactorTarget& y,
                                             const ops::FactorTarget& factor) const {
    const index_t N = x.values.rows();
    Saved<D> saved{ctx.empty({N, C}), ctx.template empty<ops::RowMoments>({N})};
    ops::residual_layer_norm<Centre>(ctx.device(), mask, x.layout->keys, x.values, branch,
                                     branch_bias, saved.x, ctx.value(weight), shift(ctx), y,
                                     saved.moments, factor, epsilon);
    return saved;
  }
};

static_assert(UnaryModule<LayerNorm<1>>);

}  // namespace weft::nn
