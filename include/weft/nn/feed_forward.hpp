// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The position-wise feed-forward network.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/linear.hpp>
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
    ops::Factor<D> x;              //!< (N, C)
    ops::Factor<D> preactivation;  //!< without its bias; empty for ReLU
    ops::Factor<D> hidden;         //!< (N, F)
  };

  template <class D>
  [[nodiscard]] Result<ops::Factor<D>, Saved<D>> forward(Context<D>& ctx,
                                                         const FactorRows<C, D>& x) const {
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    const FloatType type = ops::result_type(device);
    const ops::Factor<D> preactivation(device, {N, F}, type);
    Saved<D> saved{x.layout, x.values, {}, {}};
    if constexpr (keeps_preactivation) {
      saved.preactivation = preactivation;
      saved.hidden = ops::Factor<D>(device, {N, F});
    } else {
      saved.hidden = in_place_of(preactivation);
    }
    ops::linear_activation_dropout<A>(device, ctx.mask(dropout), x.layout->keys, x.values,
                                      ctx.factor(inner.weight), ctx.value(inner.bias),
                                      preactivation.target(), saved.hidden.target());
    ops::Factor<D> y(device, {N, C}, type);
    ops::matmul_nt(device, saved.hidden, ctx.factor(outer.weight), y.target());
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx`, or adds it there.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const ops::Factor<D>& dy,
                const Tensor<float, D>& dx, ops::Write write) const {
    auto& device = ctx.device();
    detail::linear_gradients(ctx, outer.weight, outer.bias, saved.hidden, dy);
    const ops::Factor<D> dhidden(device, {dy.rows(), F}, ops::result_type(device));
    ops::matmul_nn(device, dy, ctx.factor(outer.weight), dhidden.target());
    const auto dinner = in_place_of(dhidden);
    if constexpr (keeps_preactivation) {
      ops::activation_dropout_backward<A>(device, ctx.mask(dropout), saved.layout->keys,
                                          saved.preactivation, ctx.value(inner.bias), dhidden,
                                          dinner.target());
    } else {
      ops::relu_dropout_backward(device, ctx.mask(dropout), saved.hidden, dhidden, dinner.target());
    }
    detail::linear_gradients(ctx, inner.weight, inner.bias, saved.x, dinner);
    ops::matmul_nn(device, dinner, ctx.factor(inner.weight), dx, write);
  }

 private:
  //! Where a product's result becomes the factor of the next: over it, unless the numbers are of
  //! another type.
  template <class D>
  static ops::Factor<D> in_place_of(const ops::Factor<D>& result) {
    const FloatType type = ops::factor_type(result.device());
    if (type == result.numbers().type) return result;
    return ops::Factor<D>(result.device(), result.shape(), type);
  }
};

static_assert(Module<FeedForward<1, 1>>);

}  // namespace weft::nn
