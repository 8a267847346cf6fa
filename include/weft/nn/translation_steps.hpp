// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A Transformer as modules one after the other, to be cut into stages.
#pragma once

#include <cstddef>

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/cross_attention_layer.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! What encoder layers hand on: the source's rows. The target's tokens come along.
template <index_t C, class D>
struct Encoding {
  Rows<C, D> rows;           //!< (M, C)
  TokenSequences<D> target;  //!< empty in a gradient
};

//! What decoder layers hand on: the target's rows, and the encoder's output, which `readers` more
//! layers read. In a gradient, `memory` is the sum of what the layers behind have added.
template <index_t C, index_t readers, class D>
struct Decoding {
  Rows<C, D> rows;    //!< (N, C)
  Rows<C, D> memory;  //!< empty where there are no more readers
};

//! As its type says.
template <index_t C, index_t readers, class D>
inline constexpr index_t readers_left<Decoding<C, readers, D>> = readers;

//! The source's embedding.
template <index_t C, Positions P>
struct ReadSource {
  Embedding<C, P> embedding;  //!< of the source's words
  index_t target_words = 0;   //!< how many words the target has

  constexpr ReadSource() = default;
  //! Of the source's embedding, and how many words the target has.
  constexpr ReadSource(const Embedding<C, P>& source, index_t target_vocabulary)
      : embedding(source), target_words(target_vocabulary) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("source_embedding", self.embedding);
  }

  //! What a generator asks a model; a tied one would find no weight (see `steps_of`).
  [[nodiscard]] constexpr const Parameter& output_embedding() const { return embedding.weight; }
  //! How many words the target has.
  [[nodiscard]] constexpr index_t target_vocabulary() const { return target_words; }

  template <class D>
  struct Saved {
    typename Embedding<C, P>::template Saved<D> embedding;
  };

  template <class D>
  [[nodiscard]] Result<Encoding<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                         const TranslationInput<D>& input) const {
    auto [x, saved] = embedding.forward(ctx, input.source);
    return {{std::move(x), input.target}, {std::move(saved)}};
  }

  template <class D>
  void backward(Context<D>& ctx, Saved<D>&& saved, const Encoding<C, D>& dy) const {
    embedding.backward(ctx, std::move(saved.embedding), dy.rows);
  }
};

//! A layer of the encoder.
template <index_t C, class Layer>
struct EncoderStep {
  Layer layer;  //!< the encoder's own

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.layer);
  }

  template <class D>
  struct Saved {
    typename Layer::template Saved<D> layer;
  };

  template <class D>
  [[nodiscard]] Result<Encoding<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                         const Encoding<C, D>& x) const {
    auto [y, saved] = layer.forward(ctx, x.rows);
    return {{std::move(y), x.target}, {std::move(saved)}};
  }

  template <class D>
  [[nodiscard]] Encoding<C, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                        const Encoding<C, D>& dy) const {
    return {layer.backward(ctx, std::move(saved.layer), dy.rows), {}};
  }
};

//! The end of the encoder, with its norm if it has one, and the target's embedding. `readers` layers
//! of the decoder will read the encoder's output.
template <index_t C, Positions P, bool FinalNorm, index_t readers,
          class Normalisation = LayerNorm<C>>
struct ReadTarget {
  Normalisation norm;         //!< of the encoder's output, if FinalNorm
  Embedding<C, P> embedding;  //!< of the target's words

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    if constexpr (FinalNorm) visit("encoder_norm", self.norm);
    visit("target_embedding", self.embedding);
  }

  template <class D>
  struct Saved {
    typename Normalisation::template Saved<D> norm;
    typename Embedding<C, P>::template Saved<D> embedding;
  };

  template <class D>
  [[nodiscard]] Result<Decoding<C, readers, D>, Saved<D>> forward(Context<D>& ctx,
                                                                  const Encoding<C, D>& x) const {
    Saved<D> saved;
    auto memory = x.rows;
    if constexpr (FinalNorm) {
      auto [normed, saved_norm] = norm.forward(ctx, x.rows);
      memory = std::move(normed);
      saved.norm = std::move(saved_norm);
    }
    auto [y, saved_embedding] = embedding.forward(ctx, x.target);
    saved.embedding = std::move(saved_embedding);
    return {{std::move(y), std::move(memory)}, std::move(saved)};
  }

  template <class D>
  [[nodiscard]] Encoding<C, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                        const Decoding<C, readers, D>& dy) const {
    embedding.backward(ctx, std::move(saved.embedding), dy.rows);
    if constexpr (FinalNorm) {
      return {norm.backward(ctx, std::move(saved.norm), dy.memory), {}};
    } else {
      return {dy.memory, {}};
    }
  }
};

//! A layer of the decoder: the first of `readers` layers that still read the encoder's output.
template <index_t C, class Layer, index_t readers>
struct DecoderStep {
  static_assert(readers > 0, "a DecoderStep is one of the readers of the encoder's output");

  Layer layer;  //!< the decoder's own

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.layer);
  }

  template <class D>
  struct Saved {
    typename Layer::template Saved<D> layer;
    LayoutPointer<D> memory_layout;
  };

  template <class D>
  [[nodiscard]] Result<Decoding<C, readers - 1, D>, Saved<D>> forward(
      Context<D>& ctx, const Decoding<C, readers, D>& x) const {
    auto [y, saved] = layer.forward(ctx, x.rows, x.memory);
    Rows<C, D> memory;
    if constexpr (readers > 1) memory = x.memory;
    return {{std::move(y), std::move(memory)}, {std::move(saved), x.memory.layout}};
  }

  //! The memory's gradient runs from the last reader to the first, each of which adds its own.
  template <class D>
  [[nodiscard]] Decoding<C, readers, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                                 const Decoding<C, readers - 1, D>& dy) const {
    MemoryGradient<D> dmemory{ctx.empty({saved.memory_layout->rows(), C})};
    if constexpr (readers > 1) {
      ops::copy(ctx.device(), dy.memory.values, dmemory.values);
      dmemory.write = ops::Write::accumulate;
    }
    auto dx = layer.backward(ctx, std::move(saved.layer), dy.rows, dmemory);
    return {std::move(dx), {std::move(dmemory.values), std::move(saved.memory_layout)}};
  }
};

//! The end of the decoder, with its norm if it has one. Nobody reads the encoder's output any more.
template <index_t C, bool FinalNorm, class Normalisation = LayerNorm<C>>
struct EndDecoder {
  Normalisation norm;  //!< of the decoder's output, if FinalNorm

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    if constexpr (FinalNorm) visit("decoder_norm", self.norm);
  }

  template <class D>
  struct Saved {
    typename Normalisation::template Saved<D> norm;
  };

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx,
                                                     const Decoding<C, 0, D>& x) const {
    if constexpr (FinalNorm) {
      auto [y, saved] = norm.forward(ctx, x.rows);
      return {std::move(y), {std::move(saved)}};
    } else {
      return {x.rows, {}};
    }
  }

  template <class D>
  [[nodiscard]] Decoding<C, 0, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                           const Rows<C, D>& dy) const {
    if constexpr (FinalNorm) {
      return {norm.backward(ctx, std::move(saved.norm), dy), {}};
    } else {
      return {dy, {}};
    }
  }
};

//! A Transformer as a Sequential, to be split into stages:
//!
//!     auto pipe = split<OneForwardOneBackward<8>, 4>(nn::steps_of(nn::Transformer<shape>(sizes)));
//!
//! The encoder's output is made once, and goes along with the target's rows to the last layer that
//! reads it. The weights are the model's own, not tied to each other.
template <TransformerShape S>
[[nodiscard]] constexpr auto steps_of(const Transformer<S>& model) {
  static_assert(S.tie == Tie::none, "a Transformer in steps has no tied embeddings: use Tie::none");
  constexpr index_t C = S.d_model;
  constexpr bool final_norm = S.has_final_norms();
  using Model = Transformer<S>;
  return [&]<std::size_t... e, std::size_t... d>(std::index_sequence<e...>,
                                                 std::index_sequence<d...>) {
    return Sequential(
        ReadSource<C, S.positions>(model.source_embedding, model.target_vocabulary()),
        EncoderStep<C, typename Model::EncoderLayerType>{model.encoder.layers[e]}...,
        ReadTarget<C, S.positions, final_norm, S.decoder_layers, typename Model::Normalisation>{
            model.encoder.norm, model.target_embedding},
        DecoderStep<C, typename Model::DecoderLayerType,
                    S.decoder_layers - static_cast<index_t>(d)>{model.decoder.layers[d]}...,
        EndDecoder<C, final_norm, typename Model::Normalisation>{model.decoder.norm});
  }
  (std::make_index_sequence<static_cast<std::size_t>(S.encoder_layers)>{},
   std::make_index_sequence<static_cast<std::size_t>(S.decoder_layers)>{});
}

}  // namespace weft::nn
