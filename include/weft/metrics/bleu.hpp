// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file BLEU of a corpus, as sacreBLEU computes it.
//!
//!     const Bleu bleu = corpus_bleu(translations, references, ThirteenATokenizer());
//!     std::puts(to_text(bleu).c_str());
//!
//! Over ranks: each takes the `corpus_statistics` of its lines, all are added up, and `bleu_score`
//! scores the sum.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/words.hpp>
#include <weft/io/utf8.hpp>
#include <weft/metrics/bleu_statistics.hpp>
#include <weft/metrics/strip.hpp>
#include <weft/metrics/tokenizers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::metrics {

//! What stands in for the precision of an order without a match, whose logarithm is minus infinity.
//!
//! **Source.** Chen and Cherry: A systematic comparison of smoothing techniques for sentence-level
//! BLEU (2014), methods 3 (the default), 1 and 2.
struct Smoothing {
  //! What an order without a match counts as.
  enum class Method { exp, none, floor, add_k };

  Method method = Method::exp;  //!< which rule
  double value = 0;             //!< of `floor` and `add_k`

  //! The k-th order without a match counts as 1 / 2^k matches.
  static constexpr Smoothing exp() { return {Method::exp, 0}; }
  //! An order without a match makes the score 0.
  static constexpr Smoothing none() { return {Method::none, 0}; }
  //! An order without a match counts as `value` matches.
  static constexpr Smoothing floor(double value = 0.1) { return {Method::floor, value}; }
  //! Orders from 2 on count `value` more matches and as many more n-grams.
  static constexpr Smoothing add_k(double value = 1) { return {Method::add_k, value}; }
};

//! A BLEU score and what it is made of.
struct Bleu {
  double score = 0;                                         //!< 0 to 100
  std::array<double, BleuStatistics::orders> precisions{};  //!< of 1- to 4-grams, in percent
  double brevity_penalty = 1;                               //!< 1 unless the hypotheses are shorter
  double ratio = 0;  //!< hypothesis_length / reference_length, or 0
  index_t hypothesis_length = 0;  //!< in tokens
  index_t reference_length = 0;   //!< in tokens
};

//! The score of a corpus with these statistics.
//!
//!     score = BP exp((ln p1 + ln p2 + ln p3 + ln p4) / 4),  BP = min(1, exp(1 - r / h))
//!
//! with precisions p = 100 matches / totals, reference length r, hypothesis length h. No match at
//! all gives 0; so does no n-gram of some order in any hypothesis, unless `add_k` adds some.
//! **Errors.** ArgumentError for a smoothing value that is negative or not finite.
//! **Source.** Papineni, Roukos, Ward, Zhu 2002; the exceptions as in sacreBLEU 2.6.
[[nodiscard]] inline Bleu bleu_score(const BleuStatistics& statistics,
                                     Smoothing smoothing = Smoothing::exp()) {
  using Method = Smoothing::Method;
  if (!(smoothing.value >= 0 && std::isfinite(smoothing.value))) {
    throw ArgumentError(text("bleu: the smoothing value is ", smoothing.value));
  }
  Bleu bleu;
  bleu.hypothesis_length = statistics.hypothesis_length;
  bleu.reference_length = statistics.reference_length;
  const auto h = static_cast<double>(bleu.hypothesis_length);
  const auto r = static_cast<double>(bleu.reference_length);
  if (h < r) bleu.brevity_penalty = h > 0 ? std::exp(1 - r / h) : 0;
  if (r > 0) bleu.ratio = h / r;
  const auto& all_matches = statistics.matches;
  if (std::all_of(all_matches.begin(), all_matches.end(), [](index_t m) { return m == 0; })) {
    return bleu;
  }

  double unmatched_orders_factor = 1;
  for (std::size_t n = 0; n < BleuStatistics::orders; ++n) {
    const double added = smoothing.method == Method::add_k && n > 0 ? smoothing.value : 0;
    const double matches = static_cast<double>(statistics.matches[n]) + added;
    const double total = static_cast<double>(statistics.totals[n]) + added;
    if (total == 0) break;
    if (matches > 0) {
      bleu.precisions[n] = 100 * matches / total;
    } else if (smoothing.method == Method::exp) {
      unmatched_orders_factor *= 2;
      bleu.precisions[n] = 100 / (unmatched_orders_factor * total);
    } else if (smoothing.method == Method::floor) {
      bleu.precisions[n] = 100 * smoothing.value / total;
    }
  }
  double logarithms = 0;
  for (const double precision : bleu.precisions) logarithms += std::log(precision);
  bleu.score = bleu.brevity_penalty * std::exp(logarithms / double{BleuStatistics::orders});
  return bleu;
}

//! One line as sacreBLEU prints it, here without a signature:
//! `BLEU = 41.02 71.0/47.5/34.3/24.5 (BP = 0.999 ratio = 0.999 hyp_len = 12096 ref_len = 12103)`.
[[nodiscard]] inline std::string to_text(const Bleu& bleu) {
  const auto& p = bleu.precisions;
  return text("BLEU = ", fixed(bleu.score, 2), " ", fixed(p[0], 1), "/", fixed(p[1], 1), "/",
              fixed(p[2], 1), "/", fixed(p[3], 1), " (BP = ", fixed(bleu.brevity_penalty, 3),
              " ratio = ", fixed(bleu.ratio, 3), " hyp_len = ", bleu.hypothesis_length,
              " ref_len = ", bleu.reference_length, ")");
}

//! The statistics of a corpus, or of a rank's share of it, which may be empty.
//!
//! **Shapes.** `references[r][i]` is the r-th reference of `hypotheses[i]`. Lines are UTF-8; in a
//! hypothesis, which may be whatever a model wrote, a byte that is not matches nothing.
//! **Errors.** ArgumentError without references; DataError if a reference has another number of
//! lines, or one that is not UTF-8.
template <Tokenizer T>
[[nodiscard]] BleuStatistics corpus_statistics(std::span<const std::string> hypotheses,
                                               std::span<const std::vector<std::string>> references,
                                               const T& tokenize) {
  detail::check_lines(hypotheses, references);
  for (std::size_t r = 0; r < references.size(); ++r) {
    for (std::size_t i = 0; i < references[r].size(); ++i) {
      if (const auto at = io::find_invalid_utf8(references[r][i])) {
        throw DataError(
            text("bleu: reference ", r + 1, ", line ", i + 1, ": byte ", *at, " is not UTF-8"));
      }
    }
  }
  return detail::sum_lines(
      hypotheses, references,
      [&](const std::string& line) -> std::string { return tokenize(strip_right(line)); },
      [](std::string_view line) { return data::split_words(line); });
}

//! The BLEU of a corpus with several references.
//!
//! **Errors.** Those of corpus_statistics and bleu_score, and DataError for no lines.
template <Tokenizer T = ThirteenATokenizer>
[[nodiscard]] Bleu corpus_bleu(std::span<const std::string> hypotheses,
                               std::span<const std::vector<std::string>> references,
                               const T& tokenize = {}, Smoothing smoothing = Smoothing::exp()) {
  const auto statistics = corpus_statistics(hypotheses, references, tokenize);
  if (hypotheses.empty()) throw DataError("bleu: there are no lines to score");
  return bleu_score(statistics, smoothing);
}

//! The BLEU of a corpus with one reference.
template <Tokenizer T = ThirteenATokenizer>
[[nodiscard]] Bleu corpus_bleu(std::span<const std::string> hypotheses,
                               const std::vector<std::string>& reference, const T& tokenize = {},
                               Smoothing smoothing = Smoothing::exp()) {
  return corpus_bleu(hypotheses, std::span(&reference, 1), tokenize, smoothing);
}

}  // namespace weft::metrics
