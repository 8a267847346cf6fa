// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Beam search, of which greedy search is the beam of one.
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
#include <weft/nn/context.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::generate {

//! How to search. The names and defaults are fairseq's.
struct SearchSettings {
  index_t beam = 5;
  double length_penalty = 1.0;     //!< a score is a sum of logarithms / length^length_penalty
  double max_length_a = 0.0;       //!< a translation has at most a * source length + b tokens,
  index_t max_length_b = 200;      //!< its end included
  token_t bos = 2;
  token_t eos = 3;
  std::vector<token_t> forbidden{0};  //!< words that are never generated: padding
};

//! A finished translation.
struct Hypothesis {
  std::vector<token_t> tokens;  //!< without the marks of beginning and end
  double score = 0.0;           //!< normalised by length, the end included
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
  index_t longest = 0;
};

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
      const bool possible =
          scored.word >= 0 &&
          std::ranges::find(settings.forbidden, scored.word) == settings.forbidden.end() &&
          !(length == 0 && scored.word == settings.eos);  // no empty translation
      if (!possible) continue;
      candidates.push_back({search.active[parent].score +
                                static_cast<double>(scored.log_probability),
                            parent, scored.word});
    }
  }
  std::ranges::stable_sort(candidates, std::greater{}, &Candidate::score);
  const auto most = static_cast<std::size_t>(2 * settings.beam);
  if (candidates.size() > most) candidates.resize(most);
  return candidates;
}

//! Ends what ends and keeps the `beam` best that go on.
inline void advance(SourceSearch& search, const std::vector<Candidate>& candidates,
                    const SearchSettings& settings) {
  const auto beam = static_cast<std::size_t>(settings.beam);
  std::vector<SourceSearch::Partial> next;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    const Candidate& candidate = candidates[rank];
    const auto& parent = search.active[candidate.parent];
    if (candidate.word == settings.eos) {
      // Only those among the best `beam` may end, as in fairseq.
      if (rank < beam && search.finished.size() < beam) {
        const double length = static_cast<double>(parent.tokens.size() + 1);
        search.finished.push_back(
            {parent.tokens, candidate.score / std::pow(length, settings.length_penalty)});
      }
    } else if (next.size() < beam) {
      next.push_back({parent.tokens, candidate.score, parent.row});
      next.back().tokens.push_back(candidate.word);
    }
  }
  search.active = search.finished.size() == beam ? std::vector<SourceSearch::Partial>{}
                                                 : std::move(next);
}

//! Ends every active translation here: the longest that is allowed.
inline void end_all(SourceSearch& search, std::span<const float> end_scores,
                    const SearchSettings& settings) {
  for (const auto& partial : search.active) {
    if (search.finished.size() == static_cast<std::size_t>(settings.beam)) break;
    const double score =
        partial.score +
        static_cast<double>(end_scores[static_cast<std::size_t>(partial.row)]);
    const double length = static_cast<double>(partial.tokens.size() + 1);
    search.finished.push_back(
        {partial.tokens, score / std::pow(length, settings.length_penalty)});
  }
  search.active.clear();
}

}  // namespace detail

//! The best translations of each source, best first: at most `settings.beam` of each.
//!
//! A step takes the 2 * beam best continuations of a source's partial translations; of the best
//! `beam` those that end are finished; the search of a source ends with `beam` finished ones or at
//! the greatest length. Nothing depends on which other sources are searched beside it.
//!
//! **Shapes.** source: B sequences. Returns B lists.
//! **Errors.** ArgumentError unless beam > 0 and the greatest length > 0.
//! **Source.** fairseq's SequenceGenerator.
template <class Model, class Generator, class D>
[[nodiscard]] std::vector<std::vector<Hypothesis>> beam_search(
    nn::Context<D>& ctx, const Model& model, const Generator& generator,
    const TokenSequences<D>& source, const SearchSettings& settings = {}) {
  if (settings.beam < 1 || settings.max_length_b < 1) {
    throw ArgumentError(text("beam_search: a beam of ", settings.beam, " and a length of ",
                             settings.max_length_b));
  }
  const SequenceLayout<D>& layout = *source.layout;
  std::vector<detail::SourceSearch> searches(static_cast<std::size_t>(layout.sequences()));
  for (std::size_t b = 0; b < searches.size(); ++b) {
    const auto limit = static_cast<index_t>(
        settings.max_length_a * static_cast<double>(layout.length(static_cast<index_t>(b))));
    const index_t positions = model.longest();
    searches[b].longest = std::min(limit + settings.max_length_b, positions);
    searches[b].active.push_back({{}, 0.0, 0});
  }

  DecoderCache<Model, D> cache(ctx, model, source);
  for (;;) {
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

    const index_t length = cache.length();
    const auto logits = generator.logits(ctx, cache.step(ctx, tokens, parents, counts));
    if constexpr (Generator::has_bias) {
      ops::add_bias(ctx.device(), generator.bias_view(ctx), logits);
    }
    // Forbidden words may be among the best, so ask for as many more.
    const index_t each =
        std::min(2 * settings.beam + static_cast<index_t>(settings.forbidden.size()) + 1,
                 logits.columns());
    const auto words = best_words(ctx.device(), logits, each);
    std::vector<float> end_scores;
    for (auto& search : searches) {
      if (search.active.empty()) continue;
      if (length + 1 >= search.longest) {
        if (end_scores.empty()) {
          end_scores = log_probabilities(ctx.device(), View<const float>(logits), settings.eos);
        }
        detail::end_all(search, end_scores, settings);
      } else {
        detail::advance(search,
                        detail::best_candidates(search, words, each, settings, length), settings);
      }
    }
  }

  std::vector<std::vector<Hypothesis>> results;
  for (auto& search : searches) {
    std::ranges::stable_sort(search.finished, std::greater{}, &Hypothesis::score);
    results.push_back(std::move(search.finished));
  }
  return results;
}

}  // namespace weft::generate
