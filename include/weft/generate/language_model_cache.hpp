// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Writing texts word by word, with the keys and values of earlier words kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/lifetime.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/ops/append.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/rotary.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/tensor/view.hpp>

namespace weft::generate {

//! What a language model remembers of texts.
//!
//!     LanguageModelCache cache(ctx, model);
//!     auto row = cache.read(ctx, prompt);                    // all words of it at once
//!     row = cache.read(ctx, std::span(&next_word, 1));       // as often as wished
//!
//! But for rounding, the rows are those of the model's forward pass over the whole text. A cache
//! moves and has no copies, which would share its keys and values.
//!
//! **Memory.** For each layer and text the keys and values, in floats: room for twice as many words
//! as the longest text has, and while it grows what it had before.
template <class Model, class D>
class LanguageModelCache {
 public:
  //! Of so many texts without words. The model must outlive it; the context says for which device
  //! it is. **Errors.** ArgumentError without texts.
  LanguageModelCache(const nn::Context<D>&, const Model& model WEFT_LIFETIME_BOUND,
                     index_t texts = 1)
      : model_(&model) {
    if (texts < 1) throw ArgumentError(text("LanguageModelCache: ", texts, " texts"));
    lengths_.resize(static_cast<std::size_t>(texts));
  }
  LanguageModelCache(LanguageModelCache&&) = default;
  LanguageModelCache& operator=(LanguageModelCache&&) = default;

  //! How many texts there are.
  [[nodiscard]] index_t texts() const { return std::ssize(lengths_); }

  //! How many words of a text were read. **Errors.** ArgumentError if there is no such text.
  [[nodiscard]] index_t length(index_t of_text = 0) const {
    if (of_text < 0 || of_text >= texts()) {
      throw ArgumentError(text("LanguageModelCache: text ", of_text, " of ", texts()));
    }
    return lengths_[static_cast<std::size_t>(of_text)];
  }

  //! Reads the words that follow in the only text, and returns the model's output for the last of
  //! them: what logits of the next word are made of. The context evaluates, each time with the same
  //! values.
  //!
  //! **Shapes.** words: at least one. Returns (1, C).
  //! **Errors.** As of several texts.
  [[nodiscard]] Tensor<float, D> read(nn::Context<D>& ctx, std::span<const token_t> words) {
    const index_t count = std::ssize(words);
    return read(ctx, words, std::span(&count, 1));
  }

  //! Reads the words that follow in each text, where text b has counts[b] of them, and returns the
  //! output for the last word of each text that has any, in their order.
  //!
  //! **Shapes.** counts: (B), none below 0, their sum N > 0. words: (N), text by text. Returns as
  //! many rows of C as counts are above 0.
  //! **Cost.** One pass over the model. Unless all texts begin, or none has more than one word, it
  //! has two attentions: to what was read before, and to the words themselves.
  //! **Errors.** ArgumentError unless they fit, or without words; as the embedding's, for words
  //! that the vocabulary does not have and texts longer than its positions. The texts are then what
  //! they were.
  [[nodiscard]] Tensor<float, D> read(nn::Context<D>& ctx, std::span<const token_t> words,
                                      std::span<const index_t> counts) {
    expect_words(words, counts);
    auto& device = ctx.device();
    make_room(ctx, counts);
    const Reading reading = reading_of(device, counts);
    auto x =
        model_->embedding
            .forward(ctx, {to_device<token_t>(device, words, {std::ssize(words)}), reading.words})
            .output;
    for (std::size_t i = 0; i < model_->encoder.layers.size(); ++i) {
      const auto& layer = model_->encoder.layers[i];
      x = layer
              .forward_with(ctx, x,
                            [&](const nn::FactorRows<C, D>& z) {
                              return attend(ctx, layer.self_attention, z, cache_[i], reading);
                            })
              .output;
    }
    if constexpr (Model::shape.norm == nn::Norm::pre) {
      x = model_->encoder.norm.forward(ctx, x).output;
    }
    const auto last = last_rows(ctx, x);
    // Last, so that a read that throws leaves the texts what they were.
    for (std::size_t b = 0; b < counts.size(); ++b) lengths_[b] += counts[b];
    return last;
  }

 private:
  using Attention = typename Model::Layer::Attention;
  static constexpr index_t C = Model::C;
  static constexpr index_t width = 2 * Attention::K;  // keys and values of a word

  //! What is the same for all layers as words are read.
  struct Reading {
    LayoutPointer<D> words;          //!< with their positions
    Tensor<index_t, D> places;       //!< of the words' keys and values
    bool causal = false;             //!< all are the first words of their texts
    LayoutPointer<D> queries, keys;  //!< of each text, and of the room behind its keys
    //! The words that stand behind others, if `keys` are those of the others alone.
    Tensor<index_t, D> behind;
  };

  void expect_words(std::span<const token_t> words, std::span<const index_t> counts) const {
    if (counts.size() != lengths_.size()) {
      throw ArgumentError(text("LanguageModelCache: words of ", counts.size(), " texts, there are ",
                               lengths_.size()));
    }
    index_t sum = 0;
    for (const index_t count : counts) {
      if (count < 0) throw ArgumentError(text("LanguageModelCache: ", count, " words of a text"));
      sum += count;
    }
    if (sum != std::ssize(words)) {
      throw ArgumentError(
          text("LanguageModelCache: ", words.size(), " words, by their counts ", sum));
    }
    if (words.empty()) throw ArgumentError("LanguageModelCache: no words to read");
  }

  [[nodiscard]] Tensor<float, D> last_rows(nn::Context<D>& ctx, const Rows<C, D>& x) const {
    std::vector<index_t> last;
    for (index_t b = 0; b < x.layout->sequences(); ++b) {
      if (x.layout->length(b) > 0) last.push_back(x.layout->begin(b + 1) - 1);
    }
    if (std::ssize(last) == x.values.rows()) return x.values;
    const auto rows = ctx.empty({std::ssize(last), C});
    ops::gather_rows(ctx.device(), x.values,
                     to_device<index_t>(ctx.device(), last, {std::ssize(last)}), rows);
    return rows;
  }

  [[nodiscard]] Reading reading_of(D& device, std::span<const index_t> counts) const {
    Reading reading;
    std::vector<std::uint32_t> ids(counts.size());
    std::iota(ids.begin(), ids.end(), 0u);
    reading.words =
        make_layout(device, counts, std::span<const std::uint32_t>(ids), std::span(lengths_));
    bool begins = true, one_each = true;
    for (std::size_t b = 0; b < counts.size(); ++b) {
      begins = begins && (counts[b] == 0 || lengths_[b] == 0);
      one_each = one_each && counts[b] <= 1;
    }
    reading.causal = begins;
    const bool apart = !begins && !one_each;
    std::vector<index_t> queries, keys, places, behind;
    for (std::size_t b = 0; b < counts.size(); ++b) {
      const index_t before = lengths_[b], all = before + counts[b];
      const index_t seen = counts[b] == 0 ? 0 : apart ? before : all;
      queries.insert(queries.end(), {counts[b], 0});
      keys.insert(keys.end(), {seen, room_ - seen});
      for (index_t n = before; n < all; ++n) {
        if (apart && before > 0) behind.push_back(std::ssize(places));
        places.push_back(static_cast<index_t>(b) * room_ + n);
      }
    }
    reading.queries = make_layout<D>(device, std::span<const index_t>(queries));
    reading.keys = make_layout<D>(device, std::span<const index_t>(keys));
    reading.places = to_device<index_t>(device, places, {std::ssize(places)});
    if (apart) reading.behind = to_device<index_t>(device, behind, {std::ssize(behind)});
    return reading;
  }

  //! Room in each text's keys and values for so many words more, with what is there.
  void make_room(nn::Context<D>& ctx, std::span<const index_t> counts) {
    auto& device = ctx.device();
    index_t longest = 0;
    for (std::size_t b = 0; b < counts.size(); ++b) {
      longest = std::max(longest, lengths_[b] + counts[b]);
    }
    if (longest <= room_) return;
    const index_t room = std::max(longest, 2 * room_ + 16);
    std::vector<index_t> places;
    for (index_t b = 0; b < texts(); ++b) {
      for (index_t n = 0; n < room_; ++n) places.push_back(b * room + n);
    }
    const auto to = to_device<index_t>(device, places, {std::ssize(places)});
    auto larger = cache_;
    for (Tensor<float, D>& cache : larger) {
      const auto old = std::exchange(cache, ctx.empty({texts() * room, width}));
      if (room_ > 0) ops::scatter_rows(device, old, to, cache);
    }
    cache_ = std::move(larger);  // all at once, or none where memory is missing
    room_ = room;
  }

  //! Attention to all words so far, and the output projection.
  [[nodiscard]] Tensor<float, D> attend(nn::Context<D>& ctx, const Attention& attention,
                                        const nn::FactorRows<C, D>& x,
                                        const Tensor<float, D>& cache,
                                        const Reading& reading) const {
    const auto projected = attention.project(ctx, x.values, attention.all(), FloatType::float32);
    attention.rotate(ctx, projected, *reading.words, ops::Turn::forth);
    const float* const rows = projected.numbers().floats();
    ops::append_rows(ctx.device(), ops::HeadRows<const float>{rows + C, C + width}, reading.places,
                     cache);
    if (reading.behind.empty()) {
      return attention.attend(ctx, reading.causal, {rows, C + width}, *reading.queries,
                              cache.data(), *reading.keys);
    }
    return attention.attend_behind(ctx, projected, *reading.words, cache.data(), *reading.queries,
                                   *reading.keys, reading.behind);
  }

  const Model* model_;
  std::array<Tensor<float, D>, static_cast<std::size_t>(Model::shape.layers)> cache_;
  std::vector<index_t> lengths_;  // of each text
  index_t room_ = 0;              // for so many words of each text
};

}  // namespace weft::generate
