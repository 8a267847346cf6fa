// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The position-wise feed-forward network.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! y = dropout(activation(x W1' + b1)) W2' + b2, without b2.
//!
//! It is the branch of a residual connection, which adds b2 in the pass that it makes anyway.
//!
//! **Shapes.** x, y: (N, C). F: the inner width.
//! **Source.** Vaswani et al. 2017, eq. 2.
template <index_t C, index_t F, ops::Activation A = ops::Activation::relu>
struct FeedForward {
  Linear<C, F> inner;   //!< (F, C)
  Linear<F, C> outer;   //!< (C, F)
  DropoutSite dropout;  //!< of the hidden values

  constexpr FeedForward() = default;
  //! With this probability of dropping a hidden value.
  constexpr explicit FeedForward(float dropout_probability) : dropout{dropout_probability} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("inner", self.inner);
    visit("outer", self.outer);
    visit("dropout", self.dropout);
  }

  //! The bias that the residual connection adds.
  template <class D>
  [[nodiscard]] View<const float> branch_bias(const Context<D>& ctx) const {
    return ctx.value(outer.bias);
  }

  //! With ReLU the hidden values tell all that the backward pass needs; others keep their input.
  static constexpr bool keeps_preactivation = A != ops::Activation::relu;

  template <class D>
  struct Saved {
    LayoutPointer<D> layout;
    ops::Factor<D> x;                //!< (N, C)
    Tensor<float, D> preactivation;  //!< without its bias; empty for ReLU
    ops::Factor<D> hidden;           //!< (N, F)
  };

  template <class D>
  [[nodiscard]] Result<Tensor<float, D>, Saved<D>> forward(Context<D>& ctx,
                                                           const Rows<C, D>& x) const {
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    Saved<D> saved{x.layout, ops::Factor<D>(x.values), {}, {}};
    auto hidden = ctx.empty({N, F});
    auto preactivation = hidden;  // in place, unless it is kept
    if constexpr (keeps_preactivation) preactivation = saved.preactivation = ctx.empty({N, F});
    ops::matmul_nt(device, saved.x, ctx.factor(inner.weight), preactivation);
    ops::bias_activation_dropout<A>(device, ctx.mask(dropout), x.layout->keys, preactivation,
                                    ctx.value(inner.bias), hidden);
    saved.hidden = ops::Factor<D>(hidden);
    auto y = ctx.empty({N, C});
    ops::matmul_nt(device, saved.hidden, ctx.factor(outer.weight), y);
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx`, or adds it there.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const Tensor<float, D>& dy,
                const Tensor<float, D>& dx, ops::Write write) const {
    auto& device = ctx.device();
    const ops::Factor<D> dy_factor(dy);
    detail::weight_gradient(ctx, outer.weight, saved.hidden, dy_factor);
    detail::bias_gradient(ctx, outer.bias, dy);
    auto dhidden = ctx.empty({dy.rows(), F});
    ops::matmul_nn(device, dy_factor, ctx.factor(outer.weight), dhidden);
    if constexpr (keeps_preactivation) {
      ops::activation_dropout_backward<A>(device, ctx.mask(dropout), saved.layout->keys,
                                          saved.preactivation, ctx.value(inner.bias), dhidden,
                                          dhidden);
    } else {
      ops::relu_dropout_backward(device, ctx.mask(dropout), saved.hidden, dhidden, dhidden);
    }
    const ops::Factor<D> dhidden_factor(dhidden);
    detail::weight_gradient(ctx, inner.weight, saved.x, dhidden_factor);
    detail::bias_gradient(ctx, inner.bias, dhidden);
    ops::matmul_nn(device, dhidden_factor, ctx.factor(inner.weight), dx, write);
  }
};

static_assert(Module<FeedForward<1, 1>>);

}  // namespace weft::nn
