// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How to search for translations.
#pragma once

#include <cmath>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::generate {

//! When the search of a source ends, and with what.
enum class Rules {
  //! fairseq's: with `beam` translations, none of them empty. Where the greatest length cuts one
  //! off, the probability of its end counts.
  fairseq,
  //! Those of Hugging Face's `generate` with `early_stopping=False` and `forced_eos_token_id`: when
  //! no partial translation's score, divided as if it ended here, beats the worst of the best
  //! `beam`. A translation may be empty; where the greatest length cuts one off, its end is free.
  transformers,
};

//! How to search. The names and defaults are fairseq's.
struct SearchSettings {
  index_t beam = 5;             //!< translations that are searched at a time
  double length_penalty = 1.0;  //!< a score is a sum of logarithms / length^length_penalty
  double max_length_a = 0.0;    //!< a translation has at most a * source length + b words; of the
  index_t max_length_b = 200;   //!< two ends the source's counts, the translation's does not
  token_t bos = 2;              //!< the mark of the beginning
  token_t eos = 3;              //!< the mark of the end
  std::vector<token_t> forbidden{0};  //!< words that are never generated: padding
  bool renormalize = false;           //!< the other words share the probability of forbidden ones
  Rules rules = Rules::fairseq;       //!< when a search ends
  //! Whether scores are wanted. If not, and `beam` is 1, `train::translate` uses `greedy_search`,
  //! and scores are 0. By the rules of transformers `beam_search` may find other words: it goes on
  //! after a first end.
  bool scores = true;
};

namespace detail {

//! **Errors.** ArgumentError, in `search`'s name, for what no search can do.
inline void check_search(const char* search, const SearchSettings& settings, index_t vocabulary,
                         index_t positions) {
  constexpr index_t most = 1'000'000;  // translations of one source
  if (settings.beam < 1 || settings.beam > most || !(settings.max_length_a >= 0.0) ||
      settings.max_length_b < 1) {
    throw ArgumentError(text(search, ": a beam of ", settings.beam, " and at most ",
                             settings.max_length_a, " * length + ", settings.max_length_b,
                             " words"));
  }
  if (!std::isfinite(settings.length_penalty)) {
    throw ArgumentError(text(search, ": a length penalty of ", settings.length_penalty));
  }
  const auto in_vocabulary = [&](token_t word) { return word >= 0 && word < vocabulary; };
  if (positions < 2 || !in_vocabulary(settings.bos) || !in_vocabulary(settings.eos)) {
    throw ArgumentError(text(search, ": bos ", settings.bos, " and eos ", settings.eos,
                             " for a model of ", vocabulary, " words and ", positions,
                             " positions"));
  }
}

//! The greatest length of each source's translations. A model's first position is that of the
//! beginning.
template <class D>
std::vector<index_t> greatest_lengths(const SearchSettings& settings,
                                      const SequenceLayout<D>& source, index_t positions) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < source.sequences(); ++b) {
    const double most = settings.max_length_a * static_cast<double>(source.length(b)) +
                        static_cast<double>(settings.max_length_b);
    lengths.push_back(most < static_cast<double>(positions - 1) ? static_cast<index_t>(most)
                                                                : positions - 1);
  }
  return lengths;
}

}  // namespace detail

}  // namespace weft::generate
