// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A layer of causal self-attention, attention to a memory, and a feed-forward network, of
//! whatever kind they are.
#pragma once

#include <utility>

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/dropouts.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::nn {

//! The gradient of a memory that several layers read: each adds its part, the last layer first.
template <class D>
struct MemoryGradient {
  Tensor<float, D> values;                 //!< (M, C)
  ops::Write write = ops::Write::replace;  //!< whether the next part replaces them
};

//! One layer of these branches, each within such a residual connection, a `Sublayer`.
//!
//! **Shapes.** x, y: (N, C). memory: (M, C).
template <index_t C, class SelfAttentionType, class CrossAttentionType, class NetworkType,
          class Around>
struct CrossAttentionLayer {
  //! The type of its attention to earlier positions.
  using SelfAttention = SelfAttentionType;
  //! The type of its attention to the memory.
  using CrossAttention = CrossAttentionType;
  //! The type of its feed-forward network.
  using Network = NetworkType;

  SelfAttention self_attention;    //!< to the target's earlier positions
  Around self_residual;            //!< around it
  CrossAttention cross_attention;  //!< to the memory
  Around cross_residual;           //!< around it
  Network feed_forward;            //!< position by position
  Around feed_forward_residual;    //!< around it

  constexpr CrossAttentionLayer() = default;
  //! With these probabilities of dropping an element.
  constexpr explicit CrossAttentionLayer(Dropouts dropouts)
      : self_attention(dropouts.attention),
        self_residual(dropouts.residual),
        cross_attention(dropouts.attention),
        cross_residual(dropouts.residual),
        feed_forward(dropouts.activation),
        feed_forward_residual(dropouts.residual) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("self_attention", self.self_attention);
    visit("self_attention", self.self_residual);
    visit("cross_attention", self.cross_attention);
    visit("cross_attention", self.cross_residual);
    visit("feed_forward", self.feed_forward);
    visit("feed_forward", self.feed_forward_residual);
  }

  template <class D>
  struct Saved {
    typename Around::template Saved<D> self_residual;
    typename Around::template Saved<D> cross_residual;
    typename Around::template Saved<D> feed_forward_residual;
    typename SelfAttention::template Saved<D> self_attention;
    typename CrossAttention::template CrossSaved<D> cross_attention;
    typename Network::template Saved<D> feed_forward;
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x,
                                                     const Rows<C, D>& memory) const {
    typename SelfAttention::template Saved<D> saved_self;
    typename CrossAttention::template CrossSaved<D> saved_cross;
    auto result = forward_with(
        ctx, x,
        [&](const FactorRows<C, D>& z) {
          auto [attended, saved] = self_attention.forward(ctx, z, true);
          saved_self = std::move(saved);
          return std::move(attended);
        },
        [&](const FactorRows<C, D>& z) {
          auto [recalled, saved] = cross_attention.forward(ctx, z, memory);
          saved_cross = std::move(saved);
          return std::move(recalled);
        });
    result.saved.self_attention = std::move(saved_self);
    result.saved.cross_attention = std::move(saved_cross);
    return result;
  }

  //! The same with `attend(z)` and `recall(z)` in place of the attentions' `forward`, of which
  //! nothing is saved: for searches, which keep keys and values.
  template <class D, class Attend, class Recall>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward_with(Context<D>& ctx, const Rows<C, D>& x,
                                                          Attend&& attend, Recall&& recall) const {
    auto [z, saved_1] = self_residual.enter(ctx, x);
    const auto attended = attend(z);
    auto [u, v, saved_2] = self_residual.leave_for(cross_residual, ctx, x, attended,
                                                   self_attention.branch_bias(ctx), saved_1);
    const auto recalled = recall(v);
    auto [w, s, saved_3] = cross_residual.leave_for(feed_forward_residual, ctx, u, recalled,
                                                    cross_attention.branch_bias(ctx), saved_2);
    auto [fed, saved_network] = feed_forward.forward(ctx, s);
    auto y = feed_forward_residual.leave(ctx, w, fed, feed_forward.branch_bias(ctx), saved_3);
    return {std::move(y),
            {std::move(saved_1),
             std::move(saved_2),
             std::move(saved_3),
             {},
             {},
             std::move(saved_network)}};
  }

  template <class D>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy,
                                    MemoryGradient<D>& dmemory) const {
    auto turn = feed_forward_residual.begin_backward(ctx, saved.feed_forward_residual, dy.values);
    feed_forward.backward(ctx, std::move(saved.feed_forward), turn.dbranch, turn.dinput,
                          turn.write);

    turn =
        feed_forward_residual.turn_back(cross_residual, ctx, std::move(saved.feed_forward_residual),
                                        saved.cross_residual, std::move(turn));
    cross_attention.backward(ctx, std::move(saved.cross_attention), turn.dbranch, turn.dinput,
                             turn.write, dmemory.values,
                             std::exchange(dmemory.write, ops::Write::accumulate));

    turn = cross_residual.turn_back(self_residual, ctx, std::move(saved.cross_residual),
                                    saved.self_residual, std::move(turn));
    self_attention.backward(ctx, std::move(saved.self_attention), true, turn.dbranch, turn.dinput,
                            turn.write);
    return {self_residual.end_backward(ctx, std::move(saved.self_residual), std::move(turn)),
            dy.layout};
  }
};

}  // namespace weft::nn
