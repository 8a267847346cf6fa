// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file From a decoder's output to logits over a vocabulary.
#pragma once

#include <weft/nn/context.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/rows.hpp>

namespace weft::nn {

//! logits = x W' + b: a linear layer whose width is known at run time, or the target's embedding.
//!
//! **Shapes.** x: (N, C). weight: (V, C). bias: (V). logits: (N, V).
template <index_t C, bool Bias = false, bool Tied = false>
struct BasicGenerator {
  //! What it reads in each row.
  static constexpr index_t channels = C;
  //! Whether logits are inner products with the rows of `weight`, and a bias: the largest is then
  //! found without making all of them. Without this member it counts as false.
  static constexpr bool has_inner_products = true;

  Parameter weight;  //!< (V, C)
  Parameter bias;    //!< (V)
  Parameter source;  //!< where the weight is declared, if it is tied

  //! For so many words.
  constexpr explicit BasicGenerator(index_t vocabulary) requires(!Tied)
      : weight{.shape = {vocabulary, C}, .initializer = Initializer::xavier_uniform()},
        bias{.shape = {vocabulary}} {}

  //! For a model: its target vocabulary, and its weight where the two are tied.
  template <class Model>
  requires requires(const Model& m) { m.output_embedding(); }
  constexpr explicit BasicGenerator(const Model& model)
      : weight{.shape = {model.target_vocabulary(), C},
               .initializer = Initializer::xavier_uniform()},
        bias{.shape = {model.target_vocabulary()}},
        source(model.output_embedding()) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    if constexpr (Tied) {
      visit.tie(self.weight, self.source);
    } else {
      visit("weight", self.weight);
    }
    if constexpr (Bias) visit("bias", self.bias);
  }

  //! V.
  [[nodiscard]] constexpr index_t vocabulary() const { return weight.shape[0]; }

  //! The weight, as several products read it.
  template <class D>
  [[nodiscard]] ops::Factor<D> factor(Context<D>& ctx) const {
    return ops::Factor<D>(ctx.device(), ctx.factor(weight));
  }

  //! logits = x W', without the bias, which the criterion adds as it reads them. W: `factor`. Rows
  //! of logits may have gaps between them.
  template <class D>
  void logits(Context<D>& ctx, const ops::Factor<D>& w, const ops::Factor<D>& x,
              const ops::FactorTarget& logits) const {
    ops::matmul_nt(ctx.device(), x, w, logits);
  }

  //! logits = x W' + b, a new tensor (N, V).
  template <class D>
  [[nodiscard]] Tensor<float, D> logits(Context<D>& ctx, const Tensor<float, D>& x) const {
    auto out = ctx.empty({x.rows(), vocabulary()});
    ops::matmul_nt(ctx.device(), x, ctx.factor(weight), out);
    if constexpr (Bias) ops::add_bias(ctx.device(), ctx.value(bias), out);
    return out;
  }

  //! The bias, or empty.
  template <class D>
  [[nodiscard]] View<const float> bias_view(const Context<D>& ctx) const {
    if constexpr (Bias) return ctx.value(bias);
    return {};
  }

  //! Hands the weights' gradients to the context and returns that of x. W: `factor`.
  template <class D>
  [[nodiscard]] Tensor<float, D> backward(Context<D>& ctx, const ops::Factor<D>& w,
                                          const ops::Factor<D>& x,
                                          const ops::Factor<D>& dlogits) const {
    detail::linear_gradients<Bias>(ctx, weight, bias, x, dlogits);
    auto dx = ctx.empty(x.shape());
    ops::matmul_nn(ctx.device(), dlogits, w, dx);
    return dx;
  }
};

//! The generator of a Transformer of this shape.
template <TransformerShape S>
using Generator = BasicGenerator<S.d_model, S.generator_bias, S.tie != Tie::none>;

static_assert(Module<BasicGenerator<1>>);

}  // namespace weft::nn
