// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The types of a layer's parts, as the shape of a model chooses them.
#pragma once

#include <type_traits>

#include <weft/nn/embedding.hpp>
#include <weft/nn/feed_forward.hpp>
#include <weft/nn/gated_feed_forward.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/multi_head_attention.hpp>
#include <weft/nn/rms_norm.hpp>
#include <weft/nn/rotary.hpp>
#include <weft/nn/sublayer.hpp>
#include <weft/ops/layer_norm.hpp>

namespace weft::nn {

//! Of a `TransformerShape` or a `LanguageModelShape`.
template <auto S>
struct LayerTypes {
  static_assert(S.positions != Positions::rotary || S.rotary.turns(),
                "rotary positions turn by a base above 1, mostly 10,000: choose rotary.base");

  // Without constants of its own: nvcc 13.0 writes them into other types as members of a
  // `LayerTypes<__T80>`, which there is not.

  //! The type of norms.
  using Normalisation =
      std::conditional_t<S.rms_norm, RmsNorm<S.d_model, S.norm_epsilon_power>,
                         LayerNorm<S.d_model, ops::Centring::mean, S.norm_epsilon_power>>;
  //! The type of what is around each branch.
  using Around = Sublayer<S.d_model, S.norm, Normalisation>;
  //! The type of attention of a sequence to itself.
  using SelfAttention = MultiHeadAttention<S.d_model, S.heads, S.attention_bias,
                                           S.positions == Positions::rotary ? S.rotary : no_rotary,
                                           S.key_heads == 0 ? S.heads : S.key_heads>;
  //! The type of attention to another sequence, whose positions are not those of the first.
  using CrossAttention = MultiHeadAttention<S.d_model, S.heads, S.attention_bias, no_rotary,
                                            S.key_heads == 0 ? S.heads : S.key_heads>;
  //! The type of feed-forward networks.
  using Network = std::conditional_t<S.gated, GatedFeedForward<S.d_model, S.d_ff, S.activation>,
                                     FeedForward<S.d_model, S.d_ff, S.activation>>;
};

}  // namespace weft::nn
