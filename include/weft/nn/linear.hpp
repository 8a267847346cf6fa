// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file y = x W' + b.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

namespace detail {

//! Hands the gradient of a weight W (Out, In) to the context: dW = dy' x.
template <class D>
void weight_gradient(Context<D>& ctx, const Parameter& weight, const ops::Factor<D>& x,
                     const ops::Factor<D>& dy) {
  ctx.gradient(weight, [&device = ctx.device(), x, dy](View<float> dw, ops::Write write) {
    ops::matmul_tn(device, dy, x, dw, write);
  });
}

//! Hands the gradient of a bias to the context: db = the sum of dy, a Tensor or a Factor, over
//! rows.
template <class D, class Values>
void bias_gradient(Context<D>& ctx, const Parameter& bias, const Values& dy) {
  ctx.gradient(bias, [&device = ctx.device(), dy](View<float> db, ops::Write write) {
    ops::column_sums(device, dy, db, write);
  });
}

//! Hands the gradients of a layer's weight W (Out, In) and, with Bias, of its bias to the context.
template <bool Bias = true, class D>
void linear_gradients(Context<D>& ctx, const Parameter& weight, const Parameter& bias,
                      const ops::Factor<D>& x, const ops::Factor<D>& dy) {
  if constexpr (!Bias) {
    weight_gradient(ctx, weight, x, dy);
  } else if (!weight.trained || !bias.trained) {
    weight_gradient(ctx, weight, x, dy);
    bias_gradient(ctx, bias, dy);
  } else {
    ctx.gradients(weight, bias,
                  [&device = ctx.device(), x, dy](View<float> dw, ops::Write write_w,
                                                  View<float> db, ops::Write write_b) {
                    ops::linear_gradients(device, dy, x, dw, write_w, db, write_b);
                  });
  }
}

}  // namespace detail

//! A linear layer on each row.
//!
//! **Shapes.** x: (N, In). y: (N, Out). weight: (Out, In). bias: (Out).
template <index_t In, index_t Out, bool Bias = true>
struct Linear {
  static_assert(In > 0 && Out > 0, "a linear layer reads and writes at least one channel");

  //! (Out, In).
  Parameter weight{.shape = {Out, In}, .initializer = Initializer::xavier_uniform()};
  Parameter bias{.shape = {Out}};  //!< (Out); unused without Bias

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
    if constexpr (Bias) visit("bias", self.bias);
  }

  template <class D>
  struct Saved {
    ops::Factor<D> x;  //!< (N, In)
  };

  template <class D>
  [[nodiscard]] Result<Rows<Out, D>, Saved<D>> forward(Context<D>& ctx,
                                                       const Rows<In, D>& x) const {
    Saved<D> saved{ops::Factor<D>(x.values)};
    Rows<Out, D> y{ctx.empty({x.values.rows(), Out}), x.layout};
    if constexpr (Bias) {
      ops::linear(ctx.device(), saved.x, ctx.factor(weight), ctx.value(bias), y.values);
    } else {
      ops::matmul_nt(ctx.device(), saved.x, ctx.factor(weight), y.values);
    }
    return {std::move(y), std::move(saved)};
  }

  template <class D>
  [[nodiscard]] Rows<In, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                     const Rows<Out, D>& dy) const {
    const ops::Factor<D> factor(dy.values);
    detail::linear_gradients<Bias>(ctx, weight, bias, saved.x, factor);
    Rows<In, D> dx{ctx.empty({dy.values.rows(), In}), dy.layout};
    ops::matmul_nn(ctx.device(), factor, ctx.factor(weight), dx.values);
    return dx;
  }
};

static_assert(UnaryModule<Linear<1, 1>>);

}  // namespace weft::nn
