// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Activations as modules.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/activation.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! An activation of each element. A feed-forward network has its own, fused with bias and dropout.
//!
//! **Shapes.** x, y: (N, C).
template <index_t C, ops::Activation A>
struct BasicActivation {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {
    Tensor<float, D> kept;  //!< y for ReLU, which tells all; else x
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
    ops::bias_activation_dropout<A>(ctx.device(), {}, x.layout->keys, x.values, {}, y.values);
    const auto& kept = A == ops::Activation::relu ? y.values : x.values;
    return {y, {kept}};
  }

  template <class D>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    Rows<C, D> dx{ctx.empty(dy.values.shape()), dy.layout};
    if constexpr (A == ops::Activation::relu) {
      ops::relu_dropout_backward(ctx.device(), {}, saved.kept, dy.values, dx.values);
    } else {
      ops::activation_dropout_backward<A>(ctx.device(), {}, dy.layout->keys, saved.kept, {},
                                          dy.values, dx.values);
    }
    return dx;
  }
};

//! y = max(0, x).
template <index_t C>
using Relu = BasicActivation<C, ops::Activation::relu>;

//! y = x P(X <= x), X normal.
//!
//! **Source.** Hendrycks and Gimpel 2016.
template <index_t C>
using Gelu = BasicActivation<C, ops::Activation::gelu>;

//! y = x / (1 + exp(-x)).
//!
//! **Source.** Hendrycks and Gimpel 2016; Ramachandran et al. 2017 call it swish.
template <index_t C>
using Silu = BasicActivation<C, ops::Activation::silu>;

static_assert(UnaryModule<Relu<1>>);
static_assert(UnaryModule<Gelu<1>>);
static_assert(UnaryModule<Silu<1>>);

}  // namespace weft::nn
