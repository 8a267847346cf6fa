// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Multi-head attention: of a sequence to itself, and to another.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! Projections to queries, keys and values, attention in H heads, and a projection of the result,
//! without the last bias.
//!
//! It is the branch of a residual connection, which adds that bias in the pass that it makes
//! anyway. The three projections are declared one after the other: for self-attention they are one
//! product with a (3 C, C) weight, for cross-attention keys and values are one with (2 C, C).
//!
//! **Shapes.** x, y: (N, C). memory: (M, C).
//! **Source.** Vaswani et al. 2017, section 3.2.2.
template <index_t C, index_t H, bool Bias = false>
struct MultiHeadAttention {
  static_assert(H > 0 && C % H == 0,
                "the heads must divide d_model: choose heads such that d_model % heads == 0");
  //! Channels of a head.
  static constexpr index_t head_size = C / H;

  Parameter query_weight = weight();     //!< (C, C)
  Parameter key_weight = weight();       //!< (C, C)
  Parameter value_weight = weight();     //!< (C, C)
  Parameter query_bias{.shape = {C}};    //!< (C); biases are unused without Bias
  Parameter key_bias{.shape = {C}};      //!< (C)
  Parameter value_bias{.shape = {C}};    //!< (C)
  Linear<C, C, Bias> output;             //!< (C, C), of all heads' results
  DropoutSite dropout{.operations = H};  //!< of the probabilities, a mask a head

  constexpr MultiHeadAttention() = default;
  //! With this probability of dropping a probability.
  constexpr explicit MultiHeadAttention(float dropout_probability)
      : dropout{.probability = dropout_probability, .operations = H} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("query.weight", self.query_weight);
    visit("key.weight", self.key_weight);
    visit("value.weight", self.value_weight);
    if constexpr (Bias) {
      visit("query.bias", self.query_bias);
      visit("key.bias", self.key_bias);
      visit("value.bias", self.value_bias);
    }
    visit("output", self.output);
    visit("dropout", self.dropout);
  }

  //! The bias that the residual connection adds.
  template <class D>
  [[nodiscard]] View<const float> branch_bias(const Context<D>& ctx) const {
    if constexpr (Bias) return ctx.value(output.bias);
    return {};
  }

  template <class D>
  struct Saved {
    LayoutPointer<D> layout;
    ops::Factor<D> x;            //!< (N, C)
    Tensor<float, D> projected;  //!< (N, 3 C): queries, keys, values
    Tensor<float, D> attended;   //!< (N, C)
    Tensor<float, D> log_sums;   //!< (N, H)
  };

  //! What the backward pass of cross-attention needs.
  template <class D>
  struct CrossSaved {
    LayoutPointer<D> layout;
    LayoutPointer<D> memory_layout;
    ops::Factor<D> x;              //!< (N, C)
    Tensor<float, D> memory;       //!< (M, C), which all layers share
    Tensor<float, D> queries;      //!< (N, C)
    Tensor<float, D> keys_values;  //!< (M, 2 C)
    Tensor<float, D> attended;     //!< (N, C)
    Tensor<float, D> log_sums;     //!< (N, H)
  };

  //! Self-attention; with `causal`, position t sees positions 0 to t.
  template <class D>
  [[nodiscard]] Result<Tensor<float, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x,
                                                           bool causal) const {
    const index_t N = x.values.rows();
    const ops::Factor<D> factor(x.values);
    Saved<D> saved{x.layout, factor, project(ctx, factor, query_weight, query_bias, 3),
                   ctx.empty({N, C}), ctx.empty({N, H})};
    const auto [q, k, v] = parts<3, const float>(saved.projected);
    ops::attention(ctx.device(), problem(ctx, causal, *x.layout, *x.layout), q, k, v,
                   {saved.attended.data(), C}, saved.log_sums.data(), ops::HeadSize<head_size>());
    auto y = ctx.empty({N, C});
    ops::matmul_nt(ctx.device(), saved.attended, ctx.factor(output.weight), y);
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx`, or adds it there.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, bool causal, const Tensor<float, D>& dy,
                const Tensor<float, D>& dx, ops::Write write) const {
    const auto dattended = backward_output(ctx, saved.attended, dy);
    auto dprojected = ctx.empty(saved.projected.shape());
    const auto [q, k, v] = parts<3, const float>(saved.projected);
    const auto [dq, dk, dv] = parts<3, float>(dprojected);
    ops::attention_backward(ctx.device(), problem(ctx, causal, *saved.layout, *saved.layout), q, k,
                            v, {saved.attended.data(), C}, saved.log_sums.data(),
                            {dattended.data(), C}, dq, dk, dv, ops::HeadSize<head_size>());
    backward_project(ctx, saved.x, dprojected, query_weight, query_bias, 3, dx, write);
  }

  //! The keys and values of a memory: (M, 2 C).
  template <class D>
  [[nodiscard]] Tensor<float, D> keys_values(Context<D>& ctx,
                                             const Tensor<float, D>& memory) const {
    return project(ctx, memory, key_weight, key_bias, 2);
  }

  //! Cross-attention: sequence b of x attends to sequence b of the memory.
  template <class D>
  [[nodiscard]] Result<Tensor<float, D>, CrossSaved<D>> forward(Context<D>& ctx,
                                                                const Rows<C, D>& x,
                                                                const Rows<C, D>& memory) const {
    const index_t N = x.values.rows();
    const ops::Factor<D> factor(x.values);
    CrossSaved<D> saved{x.layout,
                        memory.layout,
                        factor,
                        memory.values,
                        project(ctx, factor, query_weight, query_bias, 1),
                        keys_values(ctx, memory.values),
                        ctx.empty({N, C}),
                        ctx.empty({N, H})};
    const auto [k, v] = parts<2, const float>(saved.keys_values);
    ops::attention(ctx.device(), problem(ctx, false, *x.layout, *memory.layout),
                   {saved.queries.data(), C}, k, v, {saved.attended.data(), C},
                   saved.log_sums.data(), ops::HeadSize<head_size>());
    auto y = ctx.empty({N, C});
    ops::matmul_nt(ctx.device(), saved.attended, ctx.factor(output.weight), y);
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx` or adds it there, and likewise the memory's to `dmemory`.
  template <class D>
  void backward(Context<D>& ctx, CrossSaved<D>&& saved, const Tensor<float, D>& dy,
                const Tensor<float, D>& dx, ops::Write write, const Tensor<float, D>& dmemory,
                ops::Write write_memory) const {
    const auto dattended = backward_output(ctx, saved.attended, dy);
    auto dqueries = ctx.empty(saved.queries.shape());
    auto dkeys_values = ctx.empty(saved.keys_values.shape());
    const auto [k, v] = parts<2, const float>(saved.keys_values);
    const auto [dk, dv] = parts<2, float>(dkeys_values);
    ops::attention_backward(ctx.device(), problem(ctx, false, *saved.layout, *saved.memory_layout),
                            {saved.queries.data(), C}, k, v, {saved.attended.data(), C},
                            saved.log_sums.data(), {dattended.data(), C}, {dqueries.data(), C}, dk,
                            dv, ops::HeadSize<head_size>());
    backward_project(ctx, saved.x, dqueries, query_weight, query_bias, 1, dx, write);
    backward_project(ctx, ops::Factor<D>(saved.memory), dkeys_values, key_weight, key_bias, 2,
                     dmemory, write_memory);
  }

  //! The sizes and masks of this attention between two layouts.
  template <class D>
  [[nodiscard]] ops::AttentionProblem<D> problem(const Context<D>& ctx, bool causal,
                                                 const SequenceLayout<D>& queries,
                                                 const SequenceLayout<D>& keys) const {
    return {H,        head_size, causal,           1.0f / std::sqrt(static_cast<float>(head_size)),
            &queries, &keys,     ctx.mask(dropout)};
  }

  //! x W' + b for `count` projections from `weight` on: (N, count C).
  template <class D>
  [[nodiscard]] Tensor<float, D> project(Context<D>& ctx, const ops::FactorView& x,
                                         const Parameter& weight, const Parameter& bias,
                                         int count) const {
    auto y = ctx.empty({x.rows(), count * C});
    const auto joined_weight = ctx.factor(joined(weight, count));
    if constexpr (Bias) {
      ops::linear(ctx.device(), x, joined_weight, ctx.value(joined(bias, count)), y);
    } else {
      ops::matmul_nt(ctx.device(), x, joined_weight, y);
    }
    return y;
  }

 private:
  static constexpr Parameter weight() {
    return {.shape = {C, C}, .initializer = Initializer::xavier_uniform()};
  }

  //! The queries, keys and values that lie side by side in one projection.
  template <int Count, class T, class D>
  static std::array<ops::HeadRows<T>, Count> parts(const Tensor<float, D>& joint) {
    std::array<ops::HeadRows<T>, Count> rows;
    for (int part = 0; part < Count; ++part) {
      rows[static_cast<std::size_t>(part)] = {joint.data() + part * C, Count * C};
    }
    return rows;
  }

  template <class D>
  [[nodiscard]] Tensor<float, D> backward_output(Context<D>& ctx, const Tensor<float, D>& attended,
                                                 const Tensor<float, D>& dy) const {
    const ops::Factor<D> factor(dy);
    detail::weight_gradient(ctx, output.weight, ops::Factor<D>(attended), factor);
    if constexpr (Bias) detail::bias_gradient(ctx, output.bias, dy);
    auto dattended = ctx.empty(attended.shape());
    ops::matmul_nn(ctx.device(), factor, ctx.factor(output.weight), dattended);
    return dattended;
  }

  template <class D>
  void backward_project(Context<D>& ctx, const ops::Factor<D>& x, const Tensor<float, D>& dy,
                        const Parameter& weight, const Parameter& bias, int count,
                        const Tensor<float, D>& dx, ops::Write write) const {
    const ops::Factor<D> factor(dy);
    detail::weight_gradient(ctx, joined(weight, count), x, factor);
    if constexpr (Bias) detail::bias_gradient(ctx, joined(bias, count), dy);
    ops::matmul_nn(ctx.device(), factor, ctx.factor(joined(weight, count)), dx, write);
  }
};

static_assert(Module<MultiHeadAttention<1, 1>>);

}  // namespace weft::nn
