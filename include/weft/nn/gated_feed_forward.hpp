// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The position-wise feed-forward network with gates.
#pragma once

#include <utility>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/activation.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/gated_activation.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::nn {

//! y = dropout(activation(x Wg') * (x Wu')) Wd', without biases.
//!
//! It is the branch of a residual connection. Gates and values are one product with a (2 F, C)
//! weight, so `gate` and `up` are frozen together or not at all.
//!
//! **Shapes.** x, y: (N, C). F: the inner width. To have the parameters of a `FeedForward` it takes
//! two thirds of that one's.
//! **Source.** Shazeer 2020, eq. 6: SwiGLU with SiLU.
template <index_t C, index_t F, ops::Activation A = ops::Activation::silu>
struct GatedFeedForward {
  Linear<C, F, false> gate;  //!< (F, C)
  Linear<C, F, false> up;    //!< (F, C)
  Linear<F, C, false> down;  //!< (C, F)
  DropoutSite dropout;       //!< of the hidden values

  constexpr GatedFeedForward() = default;
  //! With this probability of dropping a hidden value.
  constexpr explicit GatedFeedForward(float dropout_probability) : dropout{dropout_probability} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gate", self.gate);
    visit("up", self.up);
    visit("down", self.down);
    visit("dropout", self.dropout);
  }

  //! The bias that the residual connection adds: none.
  template <class D>
  [[nodiscard]] View<const float> branch_bias(const Context<D>&) const {
    return {};
  }

  template <class D>
  struct Saved {
    LayoutPointer<D> layout;
    ops::Factor<D> x;          //!< (N, C)
    ops::Factor<D> projected;  //!< (N, 2 F): gates, values
    ops::Factor<D> hidden;     //!< (N, F)
  };

  template <class D>
  [[nodiscard]] Result<ops::Factor<D>, Saved<D>> forward(Context<D>& ctx,
                                                         const FactorRows<C, D>& x) const {
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    const FloatType type = ops::result_type(device);
    Saved<D> saved{x.layout, x.values, ops::Factor<D>(device, {N, 2 * F}, type),
                   ops::Factor<D>(device, {N, F})};
    ops::matmul_nt(device, x.values, ctx.factor(gate_and_up()), saved.projected.target());
    ops::gated_activation_dropout<A>(device, ctx.mask(dropout), x.layout->keys, saved.projected,
                                     saved.hidden.target());
    ops::Factor<D> y(device, {N, C}, type);
    ops::matmul_nt(device, saved.hidden, ctx.factor(down.weight), y.target());
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx`, or adds it there.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const ops::Factor<D>& dy,
                const Tensor<float, D>& dx, ops::Write write) const {
    auto& device = ctx.device();
    detail::linear_gradients<false>(ctx, down.weight, down.bias, saved.hidden, dy);
    const ops::Factor<D> dhidden(device, {dy.rows(), F}, ops::result_type(device));
    ops::matmul_nn(device, dy, ctx.factor(down.weight), dhidden.target());
    // Over what it comes of, which nobody else reads.
    const FloatType type = ops::factor_type(device);
    const ops::Factor<D> dprojected = type == saved.projected.numbers().type
                                          ? saved.projected
                                          : ops::Factor<D>(device, {dy.rows(), 2 * F}, type);
    ops::gated_activation_dropout_backward<A>(device, ctx.mask(dropout), saved.layout->keys,
                                              saved.projected, dhidden, dprojected.target());
    detail::linear_gradients<false>(ctx, gate_and_up(), gate.bias, saved.x, dprojected);
    ops::matmul_nn(device, dprojected, ctx.factor(gate_and_up()), dx, write);
  }

 private:
  [[nodiscard]] Parameter gate_and_up() const { return joined(gate.weight, up.weight); }
};

static_assert(Module<GatedFeedForward<1, 1>>);

}  // namespace weft::nn
