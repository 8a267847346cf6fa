// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A language model: causal layers that predict the next token.
#pragma once

#include <utility>

#include <weft/core/error.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/dropouts.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/layer_types.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/rotary.hpp>
#include <weft/nn/self_attention_layer.hpp>
#include <weft/nn/sublayer.hpp>
#include <weft/ops/activation.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! What makes one language model's type different from another.
struct LanguageModelShape {
  index_t d_model = 512;        //!< C
  index_t heads = 8;            //!< of each attention; they divide d_model
  index_t key_heads = 0;        //!< of keys and values, which divide those; 0: as many
  index_t d_ff = 2048;          //!< inner width of the feed-forward networks
  index_t layers = 6;           //!< how many layers
  Norm norm = Norm::pre;        //!< where a layer normalises
  bool rms_norm = false;        //!< whether norms are an RmsNorm, or a LayerNorm
  int norm_epsilon_power = -5;  //!< of 10: what norms add to a variance
  bool attention_bias = false;  //!< whether projections of attention have one, the last too
  bool generator_bias = false;  //!< whether logits have one
  ops::Activation activation = ops::Activation::relu;  //!< of the feed-forward networks
  bool gated = false;  //!< whether those are a GatedFeedForward, or a FeedForward
  Positions positions = Positions::sinusoidal;  //!< what tells of them
  Rotary rotary{};                              //!< of Positions::rotary: its frequencies
  bool scale_embedding = true;   //!< whether embeddings are multiplied by sqrt(d_model)
  bool tie = false;              //!< the embedding is the generator's weight
};

//! From token numbers to the last layer's output, one row a token. A `LanguageModelGenerator` makes
//! logits of it, a chunk at a time.
//!
//! **Shapes.** tokens: N. output: (N, C).
//! **Errors.** `forward` throws as `Embedding`.
//! **Source.** The model of PyTorch's tutorial "Language modeling with nn.Transformer", if it
//! normalises after its branches and has all biases. Llama's (Touvron et al. 2023), if it has an
//! `rms_norm`, is `gated` with SiLU, has rotary positions and does not `scale_embedding`.
template <LanguageModelShape S>
struct LanguageModel {
  //! What it was made for.
  static constexpr LanguageModelShape shape = S;
  //! d_model.
  static constexpr index_t C = S.d_model;
  //! The type of its embedding.
  using EmbeddingType = Embedding<C, S.positions>;
  //! The types of its layers' parts.
  using Types = LayerTypes<S>;
  //! The type of its norms.
  using Normalisation = typename Types::Normalisation;
  //! The type of its layers.
  using Layer = SelfAttentionLayer<C, typename Types::SelfAttention, typename Types::Network,
                                   typename Types::Around>;
  //! The type of its stack.
  using Encoder = LayerStack<Layer, S.layers, C, S.norm == Norm::pre, Normalisation>;

  EmbeddingType embedding;  //!< from words to rows
  Encoder encoder;          //!< the layers

  //! **Errors.** ShapeError unless vocabulary > 0 and longest > 0.
  constexpr explicit LanguageModel(index_t vocabulary, index_t longest = 1024,
                                   Dropouts dropouts = {})
      : embedding(vocabulary, longest, dropouts.residual), encoder(Layer(dropouts, true)) {
    embedding.scaled = S.scale_embedding;
    if (vocabulary < 1 || longest < 1) {
      throw ShapeError(
          text("LanguageModel: a vocabulary of ", vocabulary, " words, ", longest, " positions"));
    }
  }

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("embedding", self.embedding);
    visit("encoder", self.encoder);
  }

  //! The weight that a tied generator shares.
  [[nodiscard]] constexpr const Parameter& output_embedding() const { return embedding.weight; }

  //! How many words it can say.
  [[nodiscard]] constexpr index_t target_vocabulary() const { return embedding.weight.shape[0]; }

  //! The longest sequence that can be read, where a position's vector is added: with rotary
  //! positions, or none, any can be.
  [[nodiscard]] constexpr index_t longest() const { return embedding.positions.shape[0]; }

  template <class D>
  struct Saved {
    typename EmbeddingType::template Saved<D> embedding;
    typename Encoder::template Saved<D> encoder;
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                     const TokenSequences<D>& tokens) const {
    auto [x, saved_embedding] = embedding.forward(ctx, tokens);
    auto [y, saved_encoder] = encoder.forward(ctx, std::move(x));
    return {std::move(y), {std::move(saved_embedding), std::move(saved_encoder)}};
  }

  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    const auto dx = encoder.backward(ctx, std::move(saved.encoder), dy);
    embedding.backward(ctx, std::move(saved.embedding), dx);
  }
};

//! The generator of a language model of this shape.
template <LanguageModelShape S>
using LanguageModelGenerator = BasicGenerator<S.d_model, S.generator_bias, S.tie>;

static_assert(UnaryModule<
              LanguageModel<LanguageModelShape{.d_model = 2, .heads = 1, .d_ff = 1, .layers = 1}>>);

}  // namespace weft::nn
