// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Beam search.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/generate/best_words.hpp>
#include <weft/generate/decoder_cache.hpp>
#include <weft/generate/search_settings.hpp>
#include <weft/nn/context.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::generate {

//! A finished translation.
struct Hypothesis {
  std::vector<token_t> tokens;  //!< without the marks of beginning and end
  double score = 0.0;           //!< normalised by length, the end included

  friend bool operator==(const Hypothesis&, const Hypothesis&) = default;
};

namespace detail {

//! The state of the search for one source.
struct SourceSearch {
  struct Partial {
    std::vector<token_t> tokens;
    double score;
    index_t row;  // of the last step's output
  };

  std::vector<Partial> active;
  std::vector<Hypothesis> finished;
  index_t most_words = 0;
};

//! A translation that ends, whose logarithms, that of the end included, add up to `sum`.
inline Hypothesis ended(const SourceSearch::Partial& partial, double sum,
                        const SearchSettings& settings) {
  const auto length = static_cast<double>(partial.tokens.size() + 1);
  return {partial.tokens, sum / std::pow(length, settings.length_penalty)};
}

//! Orders by descending score; those of the same score stay as they are.
//!
//! Not std::ranges::stable_sort, here and in the other headers of weft.hpp: three of them took a
//! twentieth of the time to compile it.
template <class Scored>
void sort_by_score(std::vector<Scored>& scored) {
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

//! Whether this is the logarithm of a probability above 0: not minus infinity, and not NaN.
inline bool is_possible(double log_probability) {
  return log_probability > -std::numeric_limits<double>::infinity();
}

//! A continuation of a partial translation.
struct Candidate {
  double score;
  std::size_t parent;
  token_t word;
};

//! The 2 * beam best continuations, in descending order.
//!
//! With that many, `beam` remain even if all others end here.
inline std::vector<Candidate> best_candidates(const SourceSearch& search,
                                              std::span<const ScoredWord> words, index_t each,
                                              const SearchSettings& settings, index_t length) {
  std::vector<Candidate> candidates;
  for (std::size_t parent = 0; parent < search.active.size(); ++parent) {
    const auto row = static_cast<std::size_t>(search.active[parent].row * each);
    for (const ScoredWord& scored : words.subspan(row, static_cast<std::size_t>(each))) {
      const bool possible = scored.word >= 0 && is_possible(scored.log_probability) &&
                            (settings.rules == Rules::transformers || length > 0 ||
                             scored.word != settings.eos);  // otherwise no translation is empty
      if (!possible) continue;
      candidates.push_back(
          {search.active[parent].score + static_cast<double>(scored.log_probability), parent,
           scored.word});
    }
  }
  sort_by_score(candidates);
  const auto most = static_cast<std::size_t>(2 * settings.beam);
  if (candidates.size() > most) candidates.resize(most);
  return candidates;
}

//! Keeps the best `beam` of the finished translations.
inline void keep_best(SourceSearch& search, const SearchSettings& settings) {
  sort_by_score(search.finished);
  const auto beam = static_cast<std::size_t>(settings.beam);
  if (search.finished.size() > beam) search.finished.resize(beam);
}

//! Whether a search is over whose `beam` translations have ended: by the rules of transformers only
//! if `next`, the best first, are no better.
inline bool is_over(const SourceSearch& search, const std::vector<SourceSearch::Partial>& next,
                    const SearchSettings& settings) {
  if (settings.rules == Rules::fairseq || next.empty()) return true;
  const auto length = static_cast<double>(next.front().tokens.size());
  return !(next.front().score / std::pow(length, settings.length_penalty) >
           search.finished.back().score);
}

//! Ends what ends and keeps the `beam` best that go on.
inline void advance(SourceSearch& search, const std::vector<Candidate>& candidates,
                    const SearchSettings& settings) {
  const auto beam = static_cast<std::size_t>(settings.beam);
  const bool keeps_best = settings.rules == Rules::transformers;
  std::vector<SourceSearch::Partial> next;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    const Candidate& candidate = candidates[rank];
    const auto& parent = search.active[candidate.parent];
    if (candidate.word == settings.eos) {
      // Only those among the best `beam` may end.
      if (rank < beam && (keeps_best || search.finished.size() < beam)) {
        search.finished.push_back(ended(parent, candidate.score, settings));
      }
    } else if (next.size() < beam) {
      next.push_back({parent.tokens, candidate.score, parent.row});
      next.back().tokens.push_back(candidate.word);
    }
  }
  if (keeps_best) keep_best(search, settings);
  if (search.finished.size() == beam && is_over(search, next, settings)) next.clear();
  search.active = std::move(next);
}

//! Ends the active translations here, where the greatest length is reached: the best of them, as
//! many as are missing, or by the rules of transformers, which need no scores, as many as are
//! better.
inline void end_all(SourceSearch& search, std::span<const float> end_scores,
                    const SearchSettings& settings) {
  const bool is_free = settings.rules == Rules::transformers;
  std::vector<Hypothesis> last;
  for (const auto& partial : search.active) {
    const double end = is_free ? 0.0 : end_scores[static_cast<std::size_t>(partial.row)];
    if (!is_possible(end)) continue;
    last.push_back(ended(partial, partial.score + end, settings));
  }
  sort_by_score(last);
  for (auto& hypothesis : last) {
    const bool is_full = search.finished.size() == static_cast<std::size_t>(settings.beam);
    if (is_full && !is_free) break;
    search.finished.push_back(std::move(hypothesis));
  }
  if (is_free) keep_best(search, settings);
  search.active.clear();
}

}  // namespace detail

//! The best translations of each source, best first: at most `settings.beam` of each.
//!
//! A step takes the 2 * beam best continuations of a source's partial translations; of the best
//! `beam` those that end are finished; `settings.rules` say when the search of a source ends, at
//! the latest at the greatest length. Nothing but rounding depends on which other sources are
//! searched beside it (products of 5 rows or fewer round otherwise); the
//! same sources give the same bits.
//!
//! In a training pass, too, the model is evaluated: nothing is dropped.
//!
//! A word whose probability is 0 or not a number is never chosen, so a model whose logits are not
//! numbers finds no translations.
//!
//! **Shapes.** source: B sequences. Returns B lists.
//! **Errors.** ArgumentError unless beam > 0, max_length_a >= 0, max_length_b > 0 and the length
//! penalty is finite, the model has two positions, and its vocabulary the marks of beginning and
//! end. ShapeError for a source that is longer than the model's positions.
//! **Source.** fairseq's SequenceGenerator, and GenerationMixin of Hugging Face's
//! transformers 5.23, whose `max_length` of M is a `max_length_b` of M - 2: it counts both marks.
//! In fairseq the length of a source is that of the longest one in its batch, and a beam has at
//! most as many translations as there are words but one.
template <class Model, class Generator, class D>
[[nodiscard]] std::vector<std::vector<Hypothesis>> beam_search(
    nn::Context<D>& pass, const Model& model, const Generator& generator,
    const TokenSequences<D>& source, const SearchSettings& settings = {}) {
  auto ctx = pass.evaluating();
  detail::check_search("beam_search", settings, generator.vocabulary(), model.longest());
  const auto most_words = detail::greatest_lengths(settings, *source.layout, model.longest());
  std::vector<detail::SourceSearch> searches;
  for (const index_t most : most_words) searches.push_back({{{{}, 0.0, 0}}, {}, most});

  const auto without_forbidden =
      without_words(ctx.device(), generator.vocabulary(), settings.forbidden);

  const index_t most = most_words.empty() ? 0 : std::ranges::max(most_words);
  DecoderCache<Model, D> cache(ctx, model, source, most + 1);
  for (;;) {
    const index_t length = cache.length();
    if (settings.rules == Rules::transformers) {  // whose last step would be for nothing
      for (auto& search : searches) {
        if (length >= search.most_words) detail::end_all(search, {}, settings);
      }
    }
    std::vector<token_t> tokens;
    std::vector<index_t> parents;
    std::vector<index_t> counts;
    for (auto& search : searches) {
      counts.push_back(static_cast<index_t>(search.active.size()));
      for (auto& partial : search.active) {
        parents.push_back(std::exchange(partial.row, static_cast<index_t>(tokens.size())));
        tokens.push_back(partial.tokens.empty() ? settings.bos : partial.tokens.back());
      }
    }
    if (tokens.empty()) break;

    const auto logits = generator.logits(ctx, cache.step(ctx, tokens, parents, counts));
    if (settings.renormalize) {  // which makes logits infinite: `add_bias` would look for that
      ctx.device().for_rows(logits.rows(), logits.columns(),
                            ops::detail::AddBiasRow{without_forbidden.data(), logits.data(),
                                                    logits.columns(), logits.columns()});
    }
    // The end may be among the best where it is none, so ask for one more.
    const index_t each = std::min(2 * settings.beam + 1, logits.columns());
    const auto words = best_words(ctx.device(), logits, each, View<const float>(without_forbidden));
    std::vector<float> end_scores;
    for (auto& search : searches) {
      if (search.active.empty()) continue;
      if (length >= search.most_words) {
        if (end_scores.empty()) {
          end_scores = log_probabilities(ctx.device(), View<const float>(logits), settings.eos);
        }
        detail::end_all(search, end_scores, settings);
      } else {
        detail::advance(search, detail::best_candidates(search, words, each, settings, length),
                        settings);
      }
    }
  }

  std::vector<std::vector<Hypothesis>> results;
  for (auto& search : searches) {
    detail::sort_by_score(search.finished);
    results.push_back(std::move(search.finished));
  }
  return results;
}

}  // namespace weft::generate
