// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Decoding one position at a time, with the keys and values of earlier ones kept.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/ops/append.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/matmul.hpp>
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

  //! Reads the sources. **Shapes.** source: B sequences.
  DecoderCache(nn::Context<D>& ctx, const Model& model, const TokenSequences<D>& source)
      : model_(&model) {
    const auto memory = model.encode(ctx, source);
    memory_layout_ = memory.layout;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      layer_[i].memory = layers()[i].cross_attention.keys_values(ctx, memory.values);
      layer_[i].own = ctx.empty({0, 2 * C});
    }
  }

  //! The positions decoded so far.
  [[nodiscard]] index_t length() const { return length_; }

  //! Reads one more token of each translation and returns the decoder's output for it.
  //!
  //! Translation h continues the earlier translation parents[h] (at the first position there are
  //! none, and parents are not read). Those of source b follow each other: `counts[b]` of them.
  //!
  //! **Shapes.** tokens, parents: (H). counts: (B), H in sum. Returns (H, C).
  [[nodiscard]] Tensor<float, D> step(nn::Context<D>& ctx, std::span<const token_t> tokens,
                                      std::span<const index_t> parents,
                                      std::span<const index_t> counts) {
    auto& device = ctx.device();
    const auto H = static_cast<index_t>(tokens.size());
    const auto parents_on_device = to_device<index_t>(device, parents, {H});
    const auto position = position_layout(device, H);
    const auto by_source = make_layout<D>(device, counts);
    const std::vector<index_t> own_lengths(static_cast<std::size_t>(H), length_ + 1);
    const auto own = make_layout<D>(device, std::span<const index_t>(own_lengths));

    auto x = model_->target_embedding
                 .forward(ctx, {to_device<token_t>(device, tokens, {H}), position})
                 .output;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      const auto& layer = layers()[i];
      auto [z, saved_1] = layer.self_residual.enter(ctx, x);
      const auto attended =
          attend_to_self(ctx, layer.self_attention, z, layer_[i], parents_on_device, *own);
      x = layer.self_residual.leave(ctx, x, attended, layer.self_attention.branch_bias(ctx),
                                    saved_1);
      auto [v, saved_2] = layer.cross_residual.enter(ctx, x);
      const auto recalled =
          attend_to_memory(ctx, layer.cross_attention, v, layer_[i].memory, *by_source);
      x = layer.cross_residual.leave(ctx, x, recalled, layer.cross_attention.branch_bias(ctx),
                                     saved_2);
      auto [u, saved_3] = layer.feed_forward_residual.enter(ctx, x);
      const auto fed = layer.feed_forward.forward(ctx, u).output;
      x = layer.feed_forward_residual.leave(ctx, x, fed, layer.feed_forward.branch_bias(ctx),
                                            saved_3);
    }
    ++length_;
    if constexpr (Model::shape.has_final_norms()) {
      x = model_->decoder.norm.forward(ctx, x).output;
    }
    return x.values;
  }

 private:
  struct Layer {
    Tensor<float, D> memory;  // (M, 2 C)
    Tensor<float, D> own;     // (H * length, 2 C)
  };

  [[nodiscard]] const auto& layers() const { return model_->decoder.layers; }

  //! H sequences of one row, all at the next position.
  [[nodiscard]] LayoutPointer<D> position_layout(D& device, index_t H) const {
    auto layout = std::make_shared<SequenceLayout<D>>();
    std::vector<RowKey> keys;
    layout->offsets.push_back(0);
    for (index_t h = 0; h < H; ++h) {
      layout->offsets.push_back(h + 1);
      keys.push_back({static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(length_)});
    }
    layout->starts = to_device<index_t>(device, layout->offsets, {H + 1});
    layout->keys = to_device<RowKey>(device, keys, {H});
    layout->longest = length_ + 1;  // what the table of positions has to cover
    return layout;
  }

  template <class Attention>
  [[nodiscard]] Tensor<float, D> attend_to_self(nn::Context<D>& ctx, const Attention& attention,
                                                const Rows<C, D>& x, Layer& layer,
                                                const Tensor<index_t, D>& parents,
                                                const SequenceLayout<D>& own) const {
    const index_t H = x.values.rows();
    const auto projected =
        attention.project(ctx, x.values, attention.query_weight, attention.query_bias, 3);
    auto grown = ctx.empty({H * (length_ + 1), 2 * C});
    ops::append_rows(ctx.device(), layer.own, length_, parents,
                     {projected.data() + C, 3 * C}, grown);
    layer.own = grown;
    return attend(ctx, attention, {projected.data(), 3 * C}, *x.layout, grown, own);
  }

  template <class Attention>
  [[nodiscard]] Tensor<float, D> attend_to_memory(nn::Context<D>& ctx, const Attention& attention,
                                                  const Rows<C, D>& x,
                                                  const Tensor<float, D>& memory,
                                                  const SequenceLayout<D>& by_source) const {
    const auto queries =
        attention.project(ctx, x.values, attention.query_weight, attention.query_bias, 1);
    return attend(ctx, attention, {queries.data(), C}, by_source, memory, *memory_layout_);
  }

  //! Attention of `queries` to keys and values that lie side by side, and the output projection.
  template <class Attention>
  [[nodiscard]] Tensor<float, D> attend(nn::Context<D>& ctx, const Attention& attention,
                                        ops::HeadRows<const float> queries,
                                        const SequenceLayout<D>& query_layout,
                                        const Tensor<float, D>& keys_values,
                                        const SequenceLayout<D>& key_layout) const {
    const index_t H = query_layout.rows();
    auto attended = ctx.empty({H, C});
    auto log_sums = ctx.empty({H, Model::shape.heads});
    ops::attention(ctx.device(), attention.problem(ctx, false, query_layout, key_layout), queries,
                   {keys_values.data(), 2 * C}, {keys_values.data() + C, 2 * C},
                   {attended.data(), C}, log_sums.data(),
                   ops::HeadSize<Model::shape.d_model / Model::shape.heads>());
    auto y = ctx.empty({H, C});
    ops::matmul_nt(ctx.device(), attended, ctx.value(attention.output.weight), y);
    return y;
  }

  const Model* model_;
  LayoutPointer<D> memory_layout_;
  std::array<Layer, static_cast<std::size_t>(Model::shape.decoder_layers)> layer_;
  index_t length_ = 0;
};

}  // namespace weft::generate
