// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Multi-head attention: of a sequence to itself, and to another.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include <weft/core/any_floats.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/rotary.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/merge_attention.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! Projections to queries, keys and values, attention in H heads, and a projection of the result,
//! without the last bias.
//!
//! It is the branch of a residual connection, which adds that bias in the pass that it makes
//! anyway. The three projections are declared one after the other: for self-attention they are one
//! product with a (C + 2 K, C) weight, for cross-attention keys and values are one with (2 K, C),
//! where K is C unless there are fewer `KeyHeads`.
//!
//! With a `Rotary` self-attention turns queries and keys by their positions (see `ops::rotary`),
//! and nothing is added to embeddings. With fewer `KeyHeads` than heads several heads of queries
//! share one of keys and of values.
//!
//! **Shapes.** x, y: (N, C). memory: (M, C).
//! **Source.** Vaswani et al. 2017, section 3.2.2. Rotary positions: Su et al. 2021. Grouped-query
//! attention: Ainslie et al. 2023.
template <index_t C, index_t H, bool Bias = false, Rotary R = no_rotary, index_t KeyHeads = H>
struct MultiHeadAttention {
  static_assert(H > 0 && C % H == 0,
                "the heads must divide d_model: choose heads such that d_model % heads == 0");
  static_assert(
      !R.turns() || C / H % 2 == 0,
      "rotary positions turn pairs of channels: choose heads such that d_model / heads is "
      "even");
  static_assert(R.is_valid(),
                "a Rotary has a base above 1 (or 0, for none), a factor of at least 1, and more "
                "fast_turns than slow_turns");
  static_assert(KeyHeads > 0 && H % KeyHeads == 0,
                "the heads of keys must divide those of queries: choose them such that "
                "heads % key_heads == 0");
  //! Channels of a head.
  static constexpr index_t head_size = C / H;
  //! Channels of all heads of keys, and of those of values.
  static constexpr index_t K = KeyHeads * head_size;
  //! How many heads of queries share one of keys.
  static constexpr int sharing = static_cast<int>(H / KeyHeads);

  Parameter query_weight = weight(C);  //!< (C, C)
  Parameter key_weight = weight(K);    //!< (K, C)
  Parameter value_weight = weight(K);  //!< (K, C)
  Parameter query_bias{.shape = {C}};  //!< (C); biases are unused without Bias
  Parameter key_bias{.shape = {K}};    //!< (K)
  Parameter value_bias{.shape = {K}};  //!< (K)
  Linear<C, C, Bias> output;           //!< (C, C), of all heads' results
  Parameter frequencies{.shape = {head_size / 2},
                        .initializer = Initializer::frequencies(R),
                        .trained = false,
                        .computed = true};  //!< (head_size / 2); unused without a Rotary
  DropoutSite dropout{.operations = H};     //!< of the probabilities, a mask a head

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
    if constexpr (has_rotary) visit("frequencies", self.frequencies);
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
    ops::Factor<D> x;           //!< (N, C)
    ops::Factor<D> projected;   //!< (N, C + 2 K): queries, keys, values
    ops::Factor<D> attended;    //!< (N, C)
    Tensor<float, D> log_sums;  //!< (N, H)
  };

  //! What the backward pass of cross-attention needs.
  template <class D>
  struct CrossSaved {
    LayoutPointer<D> layout;
    LayoutPointer<D> memory_layout;
    ops::Factor<D> x;            //!< (N, C)
    Tensor<float, D> memory;     //!< (M, C), which all layers share
    ops::Factor<D> queries;      //!< (N, C)
    ops::Factor<D> keys_values;  //!< (M, 2 K)
    ops::Factor<D> attended;     //!< (N, C)
    Tensor<float, D> log_sums;   //!< (N, H)
  };

  //! Self-attention; with `causal`, position t sees positions 0 to t.
  template <class D>
  [[nodiscard]] Result<ops::Factor<D>, Saved<D>> forward(Context<D>& ctx, const FactorRows<C, D>& x,
                                                         bool causal) const {
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    const FloatType type = ops::result_type(device);
    Saved<D> saved{x.layout, x.values, project(ctx, x.values, all(), type),
                   ops::Factor<D>(device, {N, C}, type), ctx.empty({N, H})};
    rotate(ctx, saved.projected, *x.layout, ops::Turn::forth);
    const auto [q, k, v] = parts(saved.projected.numbers());
    ops::attention(device, problem(ctx, causal, *x.layout, *x.layout), q, k, v,
                   {saved.attended.target().numbers, C}, saved.log_sums.data(),
                   ops::HeadSize<head_size>());
    ops::Factor<D> y(device, {N, C}, type);
    ops::matmul_nt(device, saved.attended, ctx.factor(output.weight), y.target());
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx`, or adds it there.
  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, bool causal, const ops::Factor<D>& dy,
                const Tensor<float, D>& dx, ops::Write write) const {
    const auto dattended = backward_output(ctx, saved.attended, dy);
    const auto dprojected = like(saved.projected);
    const auto [q, k, v] = parts(saved.projected.numbers());
    const auto [dq, dk, dv] = parts(dprojected.target().numbers);
    ops::attention_backward(ctx.device(), problem(ctx, causal, *saved.layout, *saved.layout), q, k,
                            v, {saved.attended.numbers(), C}, saved.log_sums.data(),
                            {dattended.numbers(), C}, dq, dk, dv, ops::HeadSize<head_size>());
    rotate(ctx, dprojected, *saved.layout, ops::Turn::back);
    backward_project(ctx, saved.x, dprojected, all(), dx, write);
  }

  //! The keys and values of a memory, as numbers of this type: (M, 2 K).
  template <class D>
  [[nodiscard]] ops::Factor<D> keys_values(Context<D>& ctx, const Tensor<float, D>& memory,
                                           FloatType type) const {
    return project(ctx, memory, of_memory(), type);
  }

  //! Cross-attention: sequence b of x attends to sequence b of the memory.
  template <class D>
  [[nodiscard]] Result<ops::Factor<D>, CrossSaved<D>> forward(Context<D>& ctx,
                                                              const FactorRows<C, D>& x,
                                                              const Rows<C, D>& memory) const {
    static_assert(!has_rotary, "rotary positions are for attention of a sequence to itself");
    auto& device = ctx.device();
    const index_t N = x.values.rows();
    const FloatType type = ops::result_type(device);
    CrossSaved<D> saved{x.layout,
                        memory.layout,
                        x.values,
                        memory.values,
                        project(ctx, x.values, of_queries(), type),
                        keys_values(ctx, memory.values, type),
                        ops::Factor<D>(device, {N, C}, type),
                        ctx.empty({N, H})};
    const auto [k, v] = parts_of_memory(saved.keys_values.numbers());
    ops::attention(device, problem(ctx, false, *x.layout, *memory.layout),
                   {saved.queries.numbers(), C}, k, v, {saved.attended.target().numbers, C},
                   saved.log_sums.data(), ops::HeadSize<head_size>());
    ops::Factor<D> y(device, {N, C}, type);
    ops::matmul_nt(device, saved.attended, ctx.factor(output.weight), y.target());
    return {std::move(y), std::move(saved)};
  }

  //! Writes the input's gradient to `dx` or adds it there, and likewise the memory's to `dmemory`.
  template <class D>
  void backward(Context<D>& ctx, CrossSaved<D>&& saved, const ops::Factor<D>& dy,
                const Tensor<float, D>& dx, ops::Write write, const Tensor<float, D>& dmemory,
                ops::Write write_memory) const {
    const auto dattended = backward_output(ctx, saved.attended, dy);
    const auto dqueries = like(saved.queries), dkeys_values = like(saved.keys_values);
    const auto [k, v] = parts_of_memory(saved.keys_values.numbers());
    const auto [dk, dv] = parts_of_memory(dkeys_values.target().numbers);
    ops::attention_backward(ctx.device(), problem(ctx, false, *saved.layout, *saved.memory_layout),
                            {saved.queries.numbers(), C}, k, v, {saved.attended.numbers(), C},
                            saved.log_sums.data(), {dattended.numbers(), C},
                            {dqueries.target().numbers, C}, dk, dv, ops::HeadSize<head_size>());
    backward_project(ctx, saved.x, dqueries, of_queries(), dx, write);
    backward_project(ctx, ops::Factor<D>(saved.memory), dkeys_values, of_memory(), dmemory,
                     write_memory);
  }

  //! Attention of projected queries to projected keys and values, which lie side by side, and the
  //! output projection of it: for searches, which keep keys and values. The last bias is not added.
  //!
  //! **Shapes.** queries: N rows of C. keys_values: (M, 2 K). Returns (N, C).
  template <class D>
  [[nodiscard]] Tensor<float, D> attend(Context<D>& ctx, bool causal,
                                        ops::HeadRows<const float> queries,
                                        const SequenceLayout<D>& query_layout,
                                        const float* keys_values,
                                        const SequenceLayout<D>& key_layout) const {
    const auto [k, v] = parts_of_memory(AnyFloats<const void>(keys_values));
    return project_attended(ctx,
                            attend_to(ctx, causal, queries, query_layout, k, v, key_layout).values);
  }

  //! The same of projected rows to earlier keys and values, all of which they see, and to their
  //! own: position t sees positions 0 to t.
  //!
  //! **Shapes.** projected: (N, C + 2 K). layout: its sequences. earlier: (M, 2 K). queries, keys:
  //! its rows and those of `earlier`, as sequences that see each other. behind: the rows that see
  //! any of `earlier`. Returns (N, C).
  template <class D>
  [[nodiscard]] Tensor<float, D> attend_behind(Context<D>& ctx, const ops::Factor<D>& projected,
                                               const SequenceLayout<D>& layout,
                                               const float* earlier,
                                               const SequenceLayout<D>& queries,
                                               const SequenceLayout<D>& keys,
                                               View<const index_t> behind) const {
    const auto [q, k, v] = parts(projected.numbers());
    const auto [earlier_k, earlier_v] = parts_of_memory(AnyFloats<const void>(earlier));
    const auto to_earlier = attend_to(ctx, false, q, queries, earlier_k, earlier_v, keys);
    const auto attended = attend_to(ctx, true, q, layout, k, v, layout);
    ops::merge_attention(ctx.device(), behind, to_earlier.values, to_earlier.log_sums,
                         attended.values, attended.log_sums);
    return project_attended(ctx, attended.values);
  }

  //! The sizes and masks of this attention between two layouts.
  template <class D>
  [[nodiscard]] ops::AttentionProblem<D> problem(const Context<D>& ctx, bool causal,
                                                 const SequenceLayout<D>& queries,
                                                 const SequenceLayout<D>& keys) const {
    return {H,        head_size, causal,           1.0f / std::sqrt(static_cast<float>(head_size)),
            &queries, &keys,     ctx.mask(dropout)};
  }

  //! Projections that are one product: their weights, and their biases, as one.
  struct Projections {
    Parameter weight;  //!< (rows of all, C)
    Parameter bias;    //!< (rows of all); unused without Bias
  };
  //! Those to queries, keys and values.
  [[nodiscard]] Projections all() const {
    return {joined(query_weight, key_weight, value_weight),
            joined(query_bias, key_bias, value_bias)};
  }
  //! That to queries.
  [[nodiscard]] Projections of_queries() const { return {query_weight, query_bias}; }
  //! Those to keys and values.
  [[nodiscard]] Projections of_memory() const {
    return {joined(key_weight, value_weight), joined(key_bias, value_bias)};
  }

  //! x W' + b for projections, as numbers of this type: (N, C of each).
  template <class D>
  [[nodiscard]] ops::Factor<D> project(Context<D>& ctx, const ops::FactorView& x,
                                       const Projections& to, FloatType type) const {
    const ops::Factor<D> y(ctx.device(), {x.rows(), to.weight.shape[0]}, type);
    const auto weight = ctx.factor(to.weight);
    if constexpr (Bias) {
      ops::linear(ctx.device(), x, weight, ctx.value(to.bias), y.target());
    } else {
      ops::matmul_nt(ctx.device(), x, weight, y.target());
    }
    return y;
  }

  //! Turns the queries and keys of a projection, or their gradients, by their positions.
  template <class D>
  void rotate(const Context<D>& ctx, const ops::Factor<D>& projected,
              const SequenceLayout<D>& layout, ops::Turn turn) const {
    if constexpr (has_rotary) {
      ops::rotary(ctx.device(), layout.keys, ctx.value(frequencies),
                  {projected.target().numbers, C + 2 * K}, H + KeyHeads, turn);
    }
  }

  //! The keys and values that lie side by side in rows of 2 K.
  template <class Void>
  static std::array<ops::AnyHeadRows<Void>, 2> parts_of_memory(AnyFloats<Void> joint) {
    return {{{joint, 2 * K, sharing}, {joint + K, 2 * K, sharing}}};
  }

 private:
  static constexpr bool has_rotary = R.turns();

  static constexpr Parameter weight(index_t rows) {
    return {.shape = {rows, C}, .initializer = Initializer::xavier_uniform()};
  }

  //! The queries, keys and values that lie side by side in one projection.
  template <class Void>
  static std::array<ops::AnyHeadRows<Void>, 3> parts(AnyFloats<Void> joint) {
    constexpr index_t width = C + 2 * K;
    return {{{joint, width}, {joint + C, width, sharing}, {joint + (C + K), width, sharing}}};
  }

  //! What `ops::attention` writes.
  template <class D>
  struct Attended {
    Tensor<float, D> values;    // (N, C)
    Tensor<float, D> log_sums;  // (N, H)
  };

  //! Attention between two layouts, of and in floats.
  template <class D>
  [[nodiscard]] Attended<D> attend_to(Context<D>& ctx, bool causal,
                                      const ops::AnyHeadRows<const void>& q,
                                      const SequenceLayout<D>& queries,
                                      const ops::AnyHeadRows<const void>& k,
                                      const ops::AnyHeadRows<const void>& v,
                                      const SequenceLayout<D>& keys) const {
    const index_t N = queries.rows();
    Attended<D> attended{ctx.empty({N, C}), ctx.empty({N, H})};
    ops::attention(ctx.device(), problem(ctx, causal, queries, keys), q, k, v,
                   {attended.values.data(), C}, attended.log_sums.data(),
                   ops::HeadSize<head_size>());
    return attended;
  }

  //! The output projection, without its bias.
  template <class D>
  [[nodiscard]] Tensor<float, D> project_attended(Context<D>& ctx,
                                                  const Tensor<float, D>& attended) const {
    const auto y = ctx.empty({attended.rows(), C});
    ops::matmul_nt(ctx.device(), attended, ctx.factor(output.weight), y);
    return y;
  }

  //! Room for a gradient of these extents and this type.
  template <class D>
  static ops::Factor<D> like(const ops::Factor<D>& values) {
    return ops::Factor<D>(values.device(), values.shape(), values.numbers().type);
  }

  template <class D>
  [[nodiscard]] ops::Factor<D> backward_output(Context<D>& ctx, const ops::Factor<D>& attended,
                                               const ops::Factor<D>& dy) const {
    auto& device = ctx.device();
    detail::linear_gradients<Bias>(ctx, output.weight, output.bias, attended.rounded(), dy);
    auto dattended = like(attended);
    ops::matmul_nn(device, dy, ctx.factor(output.weight), dattended.target());
    return dattended;
  }

  template <class D>
  void backward_project(Context<D>& ctx, const ops::Factor<D>& x, const ops::Factor<D>& dy,
                        const Projections& of, const Tensor<float, D>& dx, ops::Write write) const {
    const ops::Factor<D> factor = dy.rounded();
    detail::linear_gradients<Bias>(ctx, of.weight, of.bias, x, factor);
    ops::matmul_nn(ctx.device(), factor, ctx.factor(of.weight), dx, write);
  }
};

static_assert(Module<MultiHeadAttention<1, 1>>);

}  // namespace weft::nn
