// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file BLEU of tokenised text, as Moses' `multi-bleu.perl` computes it.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/text.hpp>
#include <weft/metrics/bleu.hpp>
#include <weft/metrics/bleu_statistics.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

namespace detail {

//! The words between ASCII white space: what Perl's `split` gives for a line of bytes.
[[nodiscard]] inline TokenLine split_bytes(std::string_view line) {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  TokenLine words;
  for (;;) {
    const auto begin = line.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto word = line.substr(0, line.find_first_of(spaces));
    words.push_back(word);
    line.remove_prefix(word.size());
  }
}

}  // namespace detail

//! The score of a corpus with these statistics: that of bleu_score without smoothing, in the
//! script's order of operations, so that the rounded digits are the script's as well.
[[nodiscard]] inline Bleu multi_bleu_score(const BleuStatistics& statistics) {
  Bleu bleu = bleu_score(statistics, Smoothing::none());
  double logarithms = 0;
  for (std::size_t n = 0; n < BleuStatistics::orders; ++n) {
    const auto matches = static_cast<double>(statistics.matches[n]);
    const auto total = static_cast<double>(statistics.totals[n]);
    const double precision = total > 0 ? matches / total : 0;
    bleu.precisions[n] = 100 * precision;
    logarithms += std::log(precision);
  }
  bleu.score = 100 * (bleu.brevity_penalty * std::exp(logarithms / double{BleuStatistics::orders}));
  return bleu;
}

//! The BLEU of text that is tokenised, as it stands: without smoothing, hence 0 if an order has no
//! match. The text need not be UTF-8.
//!
//! **Errors.** ArgumentError without references; DataError for no lines or if a reference has
//! another number of them. (The script takes missing references for empty and ignores surplus
//! ones; without a token in the hypotheses it divides by zero, where this gives 0.)
//! **Source.** mosesdecoder, scripts/generic/multi-bleu.perl.
[[nodiscard]] inline Bleu multi_bleu(std::span<const std::string> hypotheses,
                                     std::span<const std::vector<std::string>> references) {
  detail::check_lines(hypotheses, references);
  if (hypotheses.empty()) throw DataError("bleu: there are no lines to score");
  const auto as_it_is = [](const std::string& line) { return line; };
  return multi_bleu_score(detail::sum_lines(hypotheses, references, as_it_is, detail::split_bytes));
}

//! The multi-BLEU of a corpus with one reference.
[[nodiscard]] inline Bleu multi_bleu(std::span<const std::string> hypotheses,
                                     const std::vector<std::string>& reference) {
  return multi_bleu(hypotheses, std::span(&reference, 1));
}

//! One line as the script prints it:
//! `BLEU = 41.02, 71.0/47.5/34.3/24.5 (BP=0.999, ratio=0.999, hyp_len=12096, ref_len=12103)`.
[[nodiscard]] inline std::string to_multi_bleu_text(const Bleu& bleu) {
  if (bleu.reference_length == 0) {
    return "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)";
  }
  const auto& p = bleu.precisions;
  return text("BLEU = ", fixed(bleu.score, 2), ", ", fixed(p[0], 1), "/", fixed(p[1], 1), "/",
              fixed(p[2], 1), "/", fixed(p[3], 1), " (BP=", fixed(bleu.brevity_penalty, 3),
              ", ratio=", fixed(bleu.ratio, 3), ", hyp_len=", bleu.hypothesis_length,
              ", ref_len=", bleu.reference_length, ")");
}

}  // namespace weft::metrics
