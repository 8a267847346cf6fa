// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The encoder-decoder Transformer.
#pragma once

#include <utility>

#include <weft/core/error.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/cross_attention_layer.hpp>
#include <weft/nn/dropouts.hpp>
#include <weft/nn/embedding.hpp>
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

//! Which weights a model shares.
enum class Tie {
  none,    //!< every embedding and the generator have their own
  target,  //!< the target's embedding is the generator's weight
  all,     //!< one weight for both embeddings and the generator: one vocabulary
};

//! What makes one Transformer type different from another. Sizes that need no code of their own
//! (vocabularies, batches, probabilities) are given at run time.
struct TransformerShape {
  index_t d_model = 512;       //!< C
  index_t heads = 8;           //!< of each attention; they divide d_model
  index_t key_heads = 0;       //!< of keys and values, which divide those; 0: as many
  index_t d_ff = 2048;         //!< inner width of the feed-forward networks
  index_t encoder_layers = 6;  //!< at least one
  index_t decoder_layers = 6;  //!< at least one
  Norm norm = Norm::pre;       //!< where a layer normalises
  bool rms_norm = false;       //!< whether norms are an RmsNorm, or a LayerNorm
  int norm_epsilon_power = -5;  //!< of 10: what norms add to a variance
  bool final_norms = false;    //!< with Norm::post too: a norm behind each stack, as nn.Transformer
  bool attention_bias = false;  //!< whether projections of attention have one, the last too
  bool generator_bias = false;  //!< whether logits have one
  ops::Activation activation = ops::Activation::relu;  //!< of the feed-forward networks
  bool gated = false;  //!< whether those are a GatedFeedForward, or a FeedForward
  Positions positions = Positions::sinusoidal;  //!< what tells of them
  Rotary rotary{};  //!< of Positions::rotary: the frequencies of attention to a sequence itself
  bool scale_embedding = true;  //!< whether embeddings are multiplied by sqrt(d_model)
  Tie tie = Tie::none;          //!< which embeddings are one

  //! Whether encoder and decoder end with a norm of their own: where layers begin with theirs,
  //! nothing else normalises the last one's output.
  [[nodiscard]] constexpr bool has_final_norms() const { return final_norms || norm == Norm::pre; }
};

//! The sizes of a Transformer that are known only when it is made.
struct TransformerSizes {
  index_t source_vocabulary = 0;  //!< words that can be read
  index_t target_vocabulary = 0;  //!< words that can be said
  index_t longest = 1024;         //!< positions: the longest sequence that can be read or written
};

//! A batch for a Transformer: sequence b of the target is the translation of sequence b of the
//! source.
template <class D = Cpu>
struct TranslationInput {
  TokenSequences<D> source;  //!< what is translated
  TokenSequences<D> target;  //!< begins with the mark of the beginning
};

//! From token numbers to the decoder's output, one row a target token. A `Generator` makes logits
//! of it, a chunk at a time.
//!
//! **Shapes.** source: M tokens. target: N tokens, in as many sequences. output: (N, C).
//! **Errors.** `forward` throws as `Embedding`, and ShapeError unless the target has as many
//! sequences as the source.
//! **Source.** Vaswani et al. 2017.
template <TransformerShape S>
struct Transformer {
  //! What it was made for.
  static constexpr TransformerShape shape = S;
  //! d_model.
  static constexpr index_t C = S.d_model;
  //! The types of its layers' parts.
  using Types = LayerTypes<S>;
  //! The type of its norms.
  using Normalisation = typename Types::Normalisation;
  //! The type of the encoder's layers.
  using EncoderLayerType = SelfAttentionLayer<C, typename Types::SelfAttention,
                                              typename Types::Network, typename Types::Around>;
  //! The type of the decoder's layers.
  using DecoderLayerType =
      CrossAttentionLayer<C, typename Types::SelfAttention, typename Types::CrossAttention,
                          typename Types::Network, typename Types::Around>;
  //! The type of the encoder.
  using Encoder =
      LayerStack<EncoderLayerType, S.encoder_layers, C, S.has_final_norms(), Normalisation>;
  //! The type of the decoder.
  using Decoder =
      LayerStack<DecoderLayerType, S.decoder_layers, C, S.has_final_norms(), Normalisation>;
  //! The type of both embeddings.
  using EmbeddingType = Embedding<C, S.positions>;

  EmbeddingType source_embedding;  //!< of the words that are read
  EmbeddingType target_embedding;  //!< of the words that are said
  Encoder encoder;                 //!< the source's layers
  Decoder decoder;                 //!< the target's layers

  //! **Errors.** ShapeError unless the vocabularies are positive, and equal where all is tied.
  constexpr explicit Transformer(TransformerSizes sizes, Dropouts dropouts = {})
      : source_embedding(sizes.source_vocabulary, sizes.longest, dropouts.residual),
        target_embedding(sizes.target_vocabulary, sizes.longest, dropouts.residual),
        encoder(EncoderLayerType(dropouts)),
        decoder(DecoderLayerType(dropouts)) {
    source_embedding.scaled = target_embedding.scaled = S.scale_embedding;
    target_embedding.tied = S.tie == Tie::all;
    if (sizes.source_vocabulary < 1 || sizes.target_vocabulary < 1 || sizes.longest < 1) {
      throw ShapeError(text("Transformer: vocabularies of ", sizes.source_vocabulary, " and ",
                            sizes.target_vocabulary, " words, ", sizes.longest, " positions"));
    }
    if (S.tie == Tie::all && sizes.source_vocabulary != sizes.target_vocabulary) {
      throw ShapeError(text("Transformer: all embeddings are tied, but the vocabularies have ",
                            sizes.source_vocabulary, " and ", sizes.target_vocabulary, " words"));
    }
  }

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("source_embedding", self.source_embedding);
    visit("target_embedding", self.target_embedding);
    if constexpr (S.tie == Tie::all) {
      visit.tie(self.target_embedding.weight, self.source_embedding.weight);
    }
    visit("encoder", self.encoder);
    visit("decoder", self.decoder);
  }

  //! The weight that a tied generator shares.
  [[nodiscard]] constexpr const Parameter& output_embedding() const {
    return S.tie == Tie::all ? source_embedding.weight : target_embedding.weight;
  }

  //! How many words it can say.
  [[nodiscard]] constexpr index_t target_vocabulary() const {
    return target_embedding.weight.shape[0];
  }

  //! The longest sequence that can be read or written, where a position's vector is added. With
  //! rotary positions, or none, any can be, and searches write no longer ones all the same.
  [[nodiscard]] constexpr index_t longest() const { return target_embedding.positions.shape[0]; }

  template <class D>
  struct Saved {
    typename EmbeddingType::template Saved<D> source;
    typename EmbeddingType::template Saved<D> target;
    typename Encoder::template Saved<D> encoder;
    typename Decoder::template Saved<D> decoder;
    Tensor<float, D> memory;  //!< the encoder's output (M, C)
    LayoutPointer<D> memory_layout;
  };

  //! The encoder's output: what the decoder attends to.
  template <class D>
  [[nodiscard]] Rows<C, D> encode(Context<D>& ctx, const TokenSequences<D>& source) const {
    return encoder.forward(ctx, source_embedding.forward(ctx, source).output).output;
  }

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                     const TranslationInput<D>& input) const {
    auto [x, saved_source] = source_embedding.forward(ctx, input.source);
    auto [memory, saved_encoder] = encoder.forward(ctx, std::move(x));
    auto [y, saved_target] = target_embedding.forward(ctx, input.target);
    auto [output, saved_decoder] = decoder.forward(ctx, std::move(y), memory);
    return {std::move(output),
            {std::move(saved_source), std::move(saved_target), std::move(saved_encoder),
             std::move(saved_decoder), memory.values, memory.layout}};
  }

  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& doutput) const {
    MemoryGradient<D> dmemory{ctx.empty(saved.memory.shape())};
    const auto dtarget = decoder.backward(ctx, std::move(saved.decoder), doutput, dmemory);
    target_embedding.backward(ctx, std::move(saved.target), dtarget);
    const Rows<C, D> dencoded{dmemory.values, saved.memory_layout};
    const auto dsource = encoder.backward(ctx, std::move(saved.encoder), dencoded);
    source_embedding.backward(ctx, std::move(saved.source), dsource);
  }
};

static_assert(UnaryModule<Transformer<TransformerShape{
                  .d_model = 1, .heads = 1, .d_ff = 1, .encoder_layers = 1, .decoder_layers = 1}>>);

}  // namespace weft::nn
