// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Decoder layers: causal self-attention, attention to a memory, and a feed-forward network.
#pragma once

#include <weft/core/index.hpp>
#include <weft/nn/cross_attention_layer.hpp>
#include <weft/nn/feed_forward.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/multi_head_attention.hpp>
#include <weft/nn/sublayer.hpp>
#include <weft/ops/activation.hpp>

namespace weft::nn {

//! The decoder's layer of Vaswani et al. 2017.
//!
//! **Shapes.** x, y: (N, C). memory: (M, C). H: heads. F: inner width of the feed-forward network.
template <index_t C, index_t H, index_t F, Norm Place = Norm::pre, bool AttentionBias = false,
          ops::Activation A = ops::Activation::relu>
using DecoderLayer = CrossAttentionLayer<C, MultiHeadAttention<C, H, AttentionBias>,
                                         MultiHeadAttention<C, H, AttentionBias>,
                                         FeedForward<C, F, A>, Sublayer<C, Place>>;

static_assert(Module<DecoderLayer<1, 1, 1>>);

}  // namespace weft::nn
