// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writing a text word by word, with the keys and values of earlier words kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <weft/core/any_floats.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/lifetime.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/ops/append.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::generate {

//! What a language model remembers of a text.
//!
//!     LanguageModelCache cache(ctx, model);
//!     auto row = cache.read(ctx, prompt);                    // all words of it at once
//!     row = cache.read(ctx, std::span(&next_word, 1));       // as often as wished
//!
//! But for rounding, the rows are those of the model's forward pass over the whole text.
//!
//! **Memory.** For each layer and word the keys and values, in floats; room for twice as many.
template <class Model, class D>
class LanguageModelCache {
 public:
  //! Of a text without words. The model must outlive it; the context says for which device it is.
  LanguageModelCache(const nn::Context<D>&, const Model& model WEFT_LIFETIME_BOUND)
      : model_(&model) {}

  //! How many words were read.
  [[nodiscard]] index_t length() const { return length_; }

  //! Reads the words that follow, and returns the model's output for the last of them: what logits
  //! of the next word are made of. The context evaluates, each time with the same values.
  //!
  //! **Shapes.** words: at least one. Returns (1, C).
  //! **Errors.** ArgumentError without words; as the embedding's, for words that the vocabulary
  //! does not have and texts longer than its positions.
  [[nodiscard]] Tensor<float, D> read(nn::Context<D>& ctx, std::span<const token_t> words) {
    if (words.empty()) throw ArgumentError("LanguageModelCache: no words to read");
    if (length_ == 0) return read_together(ctx, words);
    for (; words.size() > 1; words = words.subspan(1)) (void)read_together(ctx, words.first(1));
    return read_together(ctx, words);
  }

 private:
  using Attention = typename Model::Attention;
  static constexpr index_t C = Model::C;
  static constexpr index_t width = 2 * Attention::K;  // keys and values of a word

  //! The first words of a text, or one more.
  [[nodiscard]] Tensor<float, D> read_together(nn::Context<D>& ctx,
                                               std::span<const token_t> words) {
    auto& device = ctx.device();
    const index_t N = std::ssize(words), all = length_ + N;
    const auto layout_of = [&](index_t rows, index_t first_position) {
      const std::uint32_t id = 0;
      return make_layout(device, std::span(&rows, 1), std::span(&id, 1), first_position);
    };
    const auto rows = layout_of(N, length_), queries = layout_of(N, 0), keys = layout_of(all, 0);
    auto x = model_->embedding.forward(ctx, {to_device<token_t>(device, words, {N}), rows}).output;
    for (std::size_t i = 0; i < model_->encoder.layers.size(); ++i) {
      const auto& layer = model_->encoder.layers[i];
      make_room(ctx, cache_[i], all);
      auto [z, saved_1] = layer.attention_residual.enter(ctx, x);
      const auto attended = attend(ctx, layer.self_attention, z, cache_[i], *rows, *queries, *keys);
      auto [middle, u, saved_2] =
          layer.attention_residual.leave_for(layer.feed_forward_residual, ctx, x, attended,
                                             layer.self_attention.branch_bias(ctx), saved_1);
      const auto fed = layer.feed_forward.forward(ctx, u).output;
      x = layer.feed_forward_residual.leave(ctx, middle, fed, layer.feed_forward.branch_bias(ctx),
                                            saved_2);
    }
    length_ = all;
    if constexpr (Model::shape.norm == nn::Norm::pre) {
      x = model_->encoder.norm.forward(ctx, x).output;
    }
    return x.values.slice(N - 1, N);
  }

  //! Room for so many words, with what is there.
  void make_room(const nn::Context<D>& ctx, Tensor<float, D>& cache, index_t words) const {
    const index_t room = cache.empty() ? 0 : cache.shape()[0];
    if (words <= room) return;
    const auto larger = ctx.empty({std::max(words, 2 * room + 16), width});
    if (length_ > 0) {
      ops::copy(ctx.device(), cache.slice(0, length_), larger.slice(0, length_));
    }
    cache = larger;
  }

  //! Attention to all words so far, and the output projection.
  [[nodiscard]] Tensor<float, D> attend(nn::Context<D>& ctx, const Attention& attention,
                                        const nn::FactorRows<C, D>& x,
                                        const Tensor<float, D>& cache,
                                        const SequenceLayout<D>& positions,
                                        const SequenceLayout<D>& queries,
                                        const SequenceLayout<D>& keys) const {
    auto& device = ctx.device();
    const index_t N = queries.rows();
    const auto projected = attention.project(ctx, x.values, attention.all(), FloatType::float32);
    attention.rotate(ctx, projected, positions, ops::Turn::forth);
    const float* const rows = projected.numbers().floats();
    // Each row is a sequence of one that begins.
    ops::append_rows(device, {}, 0, View<const index_t>(nullptr, {N}),
                     ops::HeadRows<const float>{rows + C, C + width},
                     View<float>(cache.data() + length_ * width, {N, 1, width}));
    const auto attended = ctx.empty({N, C}), log_sums = ctx.empty({N, Model::shape.heads});
    const auto [k, v] =
        Attention::parts_of_memory(AnyFloats<const void>(static_cast<const float*>(cache.data())));
    ops::attention(device, attention.problem(ctx, N > 1, queries, keys), {rows, C + width}, k, v,
                   {attended.data(), C}, log_sums.data(), ops::HeadSize<Attention::head_size>());
    auto y = ctx.empty({N, C});
    ops::matmul_nt(device, attended, ctx.factor(attention.output.weight), y);
    return y;
  }

  const Model* model_;
  std::array<Tensor<float, D>, static_cast<std::size_t>(Model::shape.layers)> cache_;
  index_t length_ = 0;
};

}  // namespace weft::generate
