// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Decoding one position at a time, with the keys and values of earlier ones kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/ops/append.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::generate {

//! What a decoder remembers of H unfinished translations of B sources.
//!
//! The memory's keys and values are made once and shared by all translations of a source: they are
//! queries of one sequence. A source without unfinished translations is a sequence of no queries.
template <class Model, class D>
class DecoderCache {
 public:
  static constexpr index_t C = Model::C;  //!< d_model

  //! Reads the sources. **Shapes.** source: B sequences. `most`: positions that will be decoded.
  DecoderCache(nn::Context<D>& ctx, const Model& model, const TokenSequences<D>& source,
               index_t most)
      : model_(&model), most_(most) {
    const auto memory = model.encode(ctx, source);
    memory_layout_ = memory.layout;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      layer_[i].memory =
          layers()[i].cross_attention.keys_values(ctx, memory.values, FloatType::float32);
    }
  }
  // Copies would share keys and values, and write to them.
  DecoderCache(DecoderCache&&) = default;
  DecoderCache& operator=(DecoderCache&&) = default;

  //! The positions decoded so far.
  [[nodiscard]] index_t length() const { return length_; }

  //! Reads one more token of each translation and returns the decoder's output for it.
  //!
  //! Translation h continues the earlier translation parents[h] (at the first position there are
  //! none, and parents are not read). Those of source b follow each other: `counts[b]` of them.
  //!
  //! The context evaluates. After an exception some layers have the token, and the cache is of no
  //! use.
  //!
  //! **Shapes.** tokens, parents: (H). counts: (B), H in sum. Returns (H, C).
  [[nodiscard]] Tensor<float, D> step(nn::Context<D>& ctx, std::span<const token_t> tokens,
                                      std::span<const index_t> parents,
                                      std::span<const index_t> counts) {
    auto& device = ctx.device();
    const auto H = static_cast<index_t>(tokens.size());
    const Own own = make_own(device, parents);
    const auto position = position_layout(device, H);
    const auto by_source = make_layout<D>(device, counts);

    auto x =
        model_->target_embedding.forward(ctx, {to_device<token_t>(device, tokens, {H}), position})
            .output;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      const auto& layer = layers()[i];
      x = layer
              .forward_with(
                  ctx, x,
                  [&](const nn::FactorRows<C, D>& z) {
                    return attend_to_self(ctx, layer.self_attention, z, layer_[i].own, own,
                                          *position);
                  },
                  [&](const nn::FactorRows<C, D>& z) {
                    return attend_to_memory(ctx, layer.cross_attention, z, layer_[i].memory,
                                            *by_source);
                  })
              .output;
    }
    ++length_;
    if constexpr (Model::shape.has_final_norms()) {
      x = model_->decoder.norm.forward(ctx, x).output;
    }
    return x.values;
  }

 private:
  using SelfAttention = typename Model::DecoderLayerType::SelfAttention;
  static constexpr index_t width = 2 * SelfAttention::K;  // keys and values of a word

  struct Layer {
    ops::Factor<D> memory;  // (M, keys and values)
    Tensor<float, D> own;   // (H, room, width)
  };

  //! What is the same for all layers in a step: which translations the own keys and values are of.
  //!
  //! A translation's rows are followed by room for more, so that translations that go on alone, as
  //! in greedy search, stay where they are: copying them took 3 % of the time for 64 sentences. To
  //! attention the room is a sequence of keys for which there are no queries.
  struct Own {
    bool stays = false;          // every translation continues itself
    Tensor<index_t, D> parents;  // (H), unless it stays
    index_t room = 0;
    LayoutPointer<D> queries, keys;
  };

  [[nodiscard]] Own make_own(D& device, std::span<const index_t> parents) {
    const auto H = static_cast<index_t>(parents.size());
    const auto& now = layer_[0].own;  // before the first position it has no shape
    const index_t room = now.empty() ? 0 : now.shape()[1];
    Own own;
    own.stays = length_ < room && H == now.shape()[0];
    for (index_t h = 0; own.stays && h < H; ++h) {
      own.stays = parents[static_cast<std::size_t>(h)] == h;
    }
    if (!own.stays) own.parents = to_device<index_t>(device, parents, {H});
    own.room = length_ < room ? room : std::max(length_ + 1, std::min(most_, 2 * room + 16));
    std::vector<index_t> queries, keys;
    for (index_t h = 0; h < H; ++h) {
      queries.insert(queries.end(), {1, 0});
      keys.insert(keys.end(), {length_ + 1, own.room - length_ - 1});
    }
    own.queries = make_layout<D>(device, std::span<const index_t>(queries));
    own.keys = make_layout<D>(device, std::span<const index_t>(keys));
    return own;
  }

  [[nodiscard]] const auto& layers() const { return model_->decoder.layers; }

  //! H sequences of one row, all at the next position.
  [[nodiscard]] LayoutPointer<D> position_layout(D& device, index_t H) const {
    const std::vector<index_t> lengths(static_cast<std::size_t>(H), 1),
        firsts(static_cast<std::size_t>(H), length_);
    std::vector<std::uint32_t> ids(lengths.size());
    std::iota(ids.begin(), ids.end(), 0u);
    return make_layout(device, std::span(lengths), std::span<const std::uint32_t>(ids),
                       std::span(firsts));
  }

  [[nodiscard]] Tensor<float, D> attend_to_self(nn::Context<D>& ctx, const SelfAttention& attention,
                                                const nn::FactorRows<C, D>& x,
                                                Tensor<float, D>& cache, const Own& own,
                                                const SequenceLayout<D>& position) const {
    const auto projected = attention.project(ctx, x.values, attention.all(), FloatType::float32);
    attention.rotate(ctx, projected, position, ops::Turn::forth);
    const float* const rows = projected.numbers().floats();
    const ops::HeadRows<const float> fresh{rows + C, C + width};
    if (own.stays) {
      ops::append_rows(ctx.device(), length_, fresh, cache);
    } else {
      auto grown = ctx.empty({x.values.rows(), own.room, width});
      ops::append_rows(ctx.device(), cache, length_, own.parents, fresh, grown);
      cache = grown;
    }
    return attention.attend(ctx, false, {rows, C + width}, *own.queries, cache.data(), *own.keys);
  }

  template <class Attention>
  [[nodiscard]] Tensor<float, D> attend_to_memory(nn::Context<D>& ctx, const Attention& attention,
                                                  const nn::FactorRows<C, D>& x,
                                                  const ops::Factor<D>& memory,
                                                  const SequenceLayout<D>& by_source) const {
    const auto queries =
        attention.project(ctx, x.values, attention.of_queries(), FloatType::float32);
    return attention.attend(ctx, false, {queries.numbers().floats(), C}, by_source,
                            memory.numbers().floats(), *memory_layout_);
  }

  const Model* model_;
  index_t most_;
  LayoutPointer<D> memory_layout_;
  std::array<Layer, static_cast<std::size_t>(Model::shape.decoder_layers)> layer_;
  index_t length_ = 0;
};

}  // namespace weft::generate
