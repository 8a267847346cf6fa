// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a language model writes behind texts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/generate/language_model_cache.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/generate/sample.hpp>
#include <weft/nn/context.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::generate {

//! How texts are continued.
struct ContinuationSettings {
  index_t most = 20;                //!< words that are written behind a text, unless it ends
  std::optional<token_t> end = {};  //!< a word that ends a text, and is not returned
  Sampling sampling = {};           //!< which words are written: unless you say so the likeliest
  //! Of the drawn words. Those of text b depend on it, on b and on the text, and on other texts by
  //! rounding alone: products of few rows add in another order.
  std::uint64_t seed = 0;
};

namespace detail {

//! The t-th word behind each text of `open`, drawn by its logits; -1 where one is NaN or plus
//! infinity, or all are minus infinity.
//! **Shapes.** rows: (N, C). open, and what is returned: (N).
template <class Generator, class D>
std::vector<token_t> sample_words(nn::Context<D>& ctx, const Generator& generator,
                                  const Tensor<float, D>& rows, std::span<const std::size_t> open,
                                  index_t t, const ContinuationSettings& settings) {
  const auto logits = to_host(generator.logits(ctx, rows));
  const std::size_t vocabulary = logits.size() / open.size();
  std::vector<token_t> words;
  for (std::size_t row = 0; row < open.size(); ++row) {
    const auto of_text = std::span(logits).subspan(row * vocabulary, vocabulary);
    const bool usable = std::isfinite(std::ranges::max(of_text)) &&
                        std::ranges::none_of(of_text, [](float x) { return std::isnan(x); });
    const auto random =
        philox({static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(open[row]), 0, 0},
               RandomKey(settings.seed, 0));
    words.push_back(usable ? sample_word(of_text, settings.sampling, random[0] * 0x1p-32)
                           : token_t{-1});
  }
  return words;
}

}  // namespace detail

//! Continues texts word by word, all of them side by side, and returns what stands behind each. The
//! context evaluates.
//!
//!     const auto more = continue_texts(ctx, model, generator, texts, {.most = 50, .end = eos});
//!
//! **Shapes.** texts: B rows of words, none empty. Returns B rows of at most `most` words.
//! **Errors.** ArgumentError for a text without words, a `most` below 0, or as `sample_word`'s;
//! Error where a logit is NaN or plus infinity, or all are minus infinity; as the embedding's, for
//! words that the vocabulary does not have and texts that become longer than its positions.
//! **Memory.** That of a `LanguageModelCache` of B texts: cut many into several calls, each with a
//! seed of its own.
template <class Model, class Generator, class D>
[[nodiscard]] std::vector<std::vector<token_t>> continue_texts(
    nn::Context<D>& ctx, const Model& model, const Generator& generator,
    std::span<const std::vector<token_t>> texts, const ContinuationSettings& settings = {}) {
  detail::check_sampling("continue_texts", settings.sampling);
  if (settings.most < 0) {
    throw ArgumentError(text("continue_texts: at most ", settings.most, " words behind a text"));
  }
  std::vector<std::vector<token_t>> written(texts.size());
  std::vector<token_t> words;     // that the model reads next
  std::vector<index_t> counts;    // of each text
  std::vector<std::size_t> open;  // texts that go on
  for (std::size_t b = 0; b < texts.size(); ++b) {
    if (texts[b].empty()) throw ArgumentError(text("continue_texts: text ", b, " has no words"));
    words.insert(words.end(), texts[b].begin(), texts[b].end());
    counts.push_back(std::ssize(texts[b]));
    open.push_back(b);
  }
  if (texts.empty()) return written;
  LanguageModelCache<Model, D> cache(ctx, model, std::ssize(texts));
  LargestLogit<Generator, D> likeliest(generator);
  for (index_t t = 0; t < settings.most && !open.empty(); ++t) {
    const auto rows = cache.read(ctx, words, counts);
    const auto next = settings.sampling.temperature == 0.0
                          ? likeliest.find(ctx, rows, {})
                          : detail::sample_words(ctx, generator, rows, open, t, settings);
    std::vector<std::size_t> still_open;
    words.clear();
    std::ranges::fill(counts, 0);
    for (std::size_t row = 0; row < open.size(); ++row) {
      const std::size_t b = open[row];
      if (next[row] < 0) {
        throw Error(text("continue_texts: no word behind the ", texts[b].size() + written[b].size(),
                         " of text ", b, ": the model makes numbers that are not finite"));
      }
      if (next[row] == settings.end) continue;
      written[b].push_back(next[row]);
      words.push_back(next[row]);
      counts[b] = 1;
      still_open.push_back(b);
    }
    open = std::move(still_open);
  }
  return written;
}

}  // namespace weft::generate
