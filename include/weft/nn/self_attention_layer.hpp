// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A layer of self-attention and a feed-forward network, of whatever kind they are.
#pragma once

#include <utility>

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/dropouts.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/module.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! One layer of these branches, each within such a residual connection, a `Sublayer`. With `causal`
//! it is a layer of a language model: a position sees only earlier ones.
//!
//! **Shapes.** x, y: (N, C).
template <index_t C, class AttentionType, class NetworkType, class Around>
struct SelfAttentionLayer {
  //! The type of its attention.
  using Attention = AttentionType;
  //! The type of its feed-forward network.
  using Network = NetworkType;

  Attention self_attention;      //!< to all positions, or to earlier ones
  Around attention_residual;     //!< around it
  Network feed_forward;          //!< position by position
  Around feed_forward_residual;  //!< around it
  bool causal = false;           //!< whether a position sees only those up to itself

  constexpr SelfAttentionLayer() = default;
  //! With these probabilities of dropping an element.
  constexpr explicit SelfAttentionLayer(Dropouts dropouts, bool is_causal = false)
      : self_attention(dropouts.attention),
        attention_residual(dropouts.residual),
        feed_forward(dropouts.activation),
        feed_forward_residual(dropouts.residual),
        causal(is_causal) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("self_attention", self.self_attention);
    visit("self_attention", self.attention_residual);
    visit("feed_forward", self.feed_forward);
    visit("feed_forward", self.feed_forward_residual);
  }

  template <class D>
  struct Saved {
    typename Around::template Saved<D> attention_residual;
    typename Around::template Saved<D> feed_forward_residual;
    typename Attention::template Saved<D> attention;
    typename Network::template Saved<D> feed_forward;
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    typename Attention::template Saved<D> saved_attention;
    auto result = forward_with(ctx, x, [&](const FactorRows<C, D>& z) {
      auto [attended, saved] = self_attention.forward(ctx, z, causal);
      saved_attention = std::move(saved);
      return std::move(attended);
    });
    result.saved.attention = std::move(saved_attention);
    return result;
  }

  //! The same with `attend(z)` in place of the attention's `forward`, of which nothing is saved:
  //! for searches, which keep keys and values.
  template <class D, class Attend>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward_with(Context<D>& ctx, const Rows<C, D>& x,
                                                          Attend&& attend) const {
    auto [z, saved_1] = attention_residual.enter(ctx, x);
    const auto attended = attend(z);
    auto [middle, u, saved_2] = attention_residual.leave_for(
        feed_forward_residual, ctx, x, attended, self_attention.branch_bias(ctx), saved_1);
    auto [fed, saved_network] = feed_forward.forward(ctx, u);
    auto y = feed_forward_residual.leave(ctx, middle, fed, feed_forward.branch_bias(ctx), saved_2);
    return {std::move(y), {std::move(saved_1), std::move(saved_2), {}, std::move(saved_network)}};
  }

  template <class D>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    auto turn = feed_forward_residual.begin_backward(ctx, saved.feed_forward_residual, dy.values);
    feed_forward.backward(ctx, std::move(saved.feed_forward), turn.dbranch, turn.dinput,
                          turn.write);
    turn = feed_forward_residual.turn_back(attention_residual, ctx,
                                           std::move(saved.feed_forward_residual),
                                           saved.attention_residual, std::move(turn));
    self_attention.backward(ctx, std::move(saved.attention), causal, turn.dbranch, turn.dinput,
                            turn.write);
    return {
        attention_residual.end_backward(ctx, std::move(saved.attention_residual), std::move(turn)),
        dy.layout};
  }
};

}  // namespace weft::nn
