// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Greedy search: one translation of each source, without its score.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/generate/decoder_cache.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/generate/search_settings.hpp>
#include <weft/nn/context.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::generate {

//! The translation of each source whose every word is the most probable one, without the marks of
//! beginning and end: but for rounding, that of `beam_search` with a beam of 1 and fairseq's rules.
//! (With `renormalize`, and the end forbidden, `beam_search` finds none.)
//! It needs no probabilities, so `next` need not make all logits. One `next` serves all searches
//! with a context.
//!
//! Of the settings, those of marks, forbidden words and lengths count; by fairseq's rules no
//! translation is empty. It is empty all the same where logits are NaN or plus infinity, or no word
//! is left.
//!
//! **Shapes.** source: B sequences. Returns B rows of words.
//! **Errors.** As `beam_search`'s.
template <class Model, class Generator, class D>
[[nodiscard]] std::vector<std::vector<token_t>> greedy_search(nn::Context<D>& pass,
                                                              const Model& model,
                                                              LargestLogit<Generator, D>& next,
                                                              const TokenSequences<D>& source,
                                                              const SearchSettings& settings = {}) {
  auto ctx = pass.evaluating();
  detail::check_search("greedy_search", settings, next.generator().vocabulary(), model.longest());
  const auto most_words = detail::greatest_lengths(settings, *source.layout, model.longest());
  std::vector<token_t> forbidden_first = settings.forbidden;
  if (settings.rules == Rules::fairseq) forbidden_first.push_back(settings.eos);

  constexpr index_t ended = -1;
  std::vector<index_t> rows(most_words.size(), 0);  // of the last step
  std::vector<std::vector<token_t>> results(most_words.size());
  const index_t most = most_words.empty() ? 0 : std::ranges::max(most_words);
  DecoderCache<Model, D> cache(ctx, model, source, most);
  for (;;) {
    const index_t length = cache.length();
    std::vector<token_t> tokens;
    std::vector<index_t> parents, counts(rows.size(), 0);
    for (std::size_t b = 0; b < rows.size(); ++b) {
      if (length >= most_words[b]) rows[b] = ended;
      if (rows[b] == ended) continue;
      counts[b] = 1;
      parents.push_back(std::exchange(rows[b], static_cast<index_t>(tokens.size())));
      tokens.push_back(results[b].empty() ? settings.bos : results[b].back());
    }
    if (tokens.empty()) return results;

    const auto words = next.find(ctx, cache.step(ctx, tokens, parents, counts),
                                 length == 0 ? forbidden_first : settings.forbidden);
    for (std::size_t b = 0; b < rows.size(); ++b) {
      if (rows[b] == ended) continue;
      const token_t word = words[static_cast<std::size_t>(rows[b])];
      if (word < 0) results[b].clear();
      if (word < 0 || word == settings.eos) {
        rows[b] = ended;
      } else {
        results[b].push_back(word);
      }
    }
  }
}

}  // namespace weft::generate
