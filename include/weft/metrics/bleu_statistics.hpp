// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The ten counts of a corpus that its BLEU is computed from.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::metrics {

//! What BLEU counts in hypotheses and references. Counts of parts of a corpus add up to those of
//! the whole, which is how ranks share the work: these are ten `index_t` side by side, for an
//! all-reduce.
struct BleuStatistics {
  //! The longest n-grams that are compared.
  static constexpr std::size_t orders = 4;

  index_t hypothesis_length = 0;          //!< tokens of the hypotheses
  index_t reference_length = 0;           //!< tokens of the references nearest in length
  std::array<index_t, orders> matches{};  //!< n-grams of hypotheses found in references, by n - 1
  std::array<index_t, orders> totals{};   //!< n-grams of hypotheses, by n - 1

  //! Adds the counts of another part of a corpus.
  BleuStatistics& operator+=(const BleuStatistics& other) {
    hypothesis_length += other.hypothesis_length;
    reference_length += other.reference_length;
    for (std::size_t n = 0; n < orders; ++n) {
      matches[n] += other.matches[n];
      totals[n] += other.totals[n];
    }
    return *this;
  }
  friend bool operator==(const BleuStatistics&, const BleuStatistics&) = default;
};
static_assert(sizeof(BleuStatistics) == 10 * sizeof(index_t));

//! The tokens of one segment.
using TokenLine = std::vector<std::string_view>;

namespace detail {

//! The numbers of up to four consecutive tokens; zeros beyond the order that is counted.
using Ngram = std::array<std::int32_t, BleuStatistics::orders>;

struct NgramCount {
  Ngram ngram;
  index_t count;
};

//! The different n-grams of `order` tokens in ascending order.
[[nodiscard]] inline std::vector<NgramCount> count_ngrams(std::span<const std::int32_t> tokens,
                                                          std::size_t order) {
  std::vector<Ngram> ngrams;
  for (std::size_t begin = 0; begin + order <= tokens.size(); ++begin) {
    Ngram ngram{};
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(begin), order, ngram.begin());
    ngrams.push_back(ngram);
  }
  std::sort(ngrams.begin(), ngrams.end());
  std::vector<NgramCount> counts;
  for (const Ngram& ngram : ngrams) {
    if (counts.empty() || counts.back().ngram != ngram) counts.push_back({ngram, 0});
    ++counts.back().count;
  }
  return counts;
}

[[nodiscard]] inline index_t count_of(const Ngram& ngram, std::span<const NgramCount> counts) {
  const auto at = std::lower_bound(
      counts.begin(), counts.end(), ngram,
      [](const NgramCount& entry, const Ngram& wanted) { return entry.ngram < wanted; });
  return at != counts.end() && at->ngram == ngram ? at->count : 0;
}

//! The length of the reference nearest in length to the hypothesis; of two, the shorter.
[[nodiscard]] inline index_t nearest_length(index_t length, std::span<const TokenLine> references) {
  const auto rank = [length](const TokenLine& reference) {
    const index_t other = std::ssize(reference);
    return std::pair(std::max(other - length, length - other), other);
  };
  const auto nearest =
      std::min_element(references.begin(), references.end(),
                       [&](const TokenLine& a, const TokenLine& b) { return rank(a) < rank(b); });
  return std::ssize(*nearest);
}

}  // namespace detail

//! The statistics of one segment with at least one reference.
//!
//! An n-gram matches as often as it occurs in the reference that has most of it (Papineni's
//! clipped counts). **Cost.** O(L log L) for L tokens.
[[nodiscard]] inline BleuStatistics bleu_statistics(const TokenLine& hypothesis,
                                                    std::span<const TokenLine> references) {
  std::unordered_map<std::string_view, std::int32_t> numbers;
  const auto numbered = [&numbers](const TokenLine& tokens) {
    std::vector<std::int32_t> out;
    for (const auto token : tokens) {
      out.push_back(
          numbers.try_emplace(token, static_cast<std::int32_t>(numbers.size())).first->second);
    }
    return out;
  };
  const auto hypothesis_tokens = numbered(hypothesis);
  std::vector<std::vector<std::int32_t>> reference_tokens;
  for (const auto& reference : references) reference_tokens.push_back(numbered(reference));

  BleuStatistics statistics;
  statistics.hypothesis_length = std::ssize(hypothesis);
  statistics.reference_length = detail::nearest_length(std::ssize(hypothesis), references);
  for (std::size_t n = 0; n < BleuStatistics::orders; ++n) {
    std::vector<std::vector<detail::NgramCount>> reference_counts;
    for (const auto& tokens : reference_tokens) {
      reference_counts.push_back(detail::count_ngrams(tokens, n + 1));
    }
    for (const auto& [ngram, count] : detail::count_ngrams(hypothesis_tokens, n + 1)) {
      index_t most = 0;
      for (const auto& counts : reference_counts) {
        most = std::max(most, detail::count_of(ngram, counts));
      }
      statistics.matches[n] += std::min(count, most);
      statistics.totals[n] += count;
    }
  }
  return statistics;
}

namespace detail {

//! Throws unless there is a reference and all have as many lines as the hypotheses.
inline void check_lines(std::span<const std::string> hypotheses,
                        std::span<const std::vector<std::string>> references) {
  if (references.empty()) throw ArgumentError("bleu: there is no reference");
  for (std::size_t r = 0; r < references.size(); ++r) {
    if (references[r].size() != hypotheses.size()) {
      throw DataError(text("bleu: ", hypotheses.size(), " lines of hypotheses, but ",
                           references[r].size(), " of reference ", r + 1));
    }
  }
}

//! Adds up the statistics of all lines: `tokenize` rewrites a line, `split` cuts it into tokens.
template <class Tokenize, class Split>
[[nodiscard]] BleuStatistics sum_lines(std::span<const std::string> hypotheses,
                                       std::span<const std::vector<std::string>> references,
                                       Tokenize&& tokenize, Split&& split) {
  BleuStatistics sum;
  std::vector<std::string> lines(references.size());  // what the tokens look into
  std::vector<TokenLine> tokens(references.size());
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    for (std::size_t r = 0; r < references.size(); ++r) {
      lines[r] = tokenize(references[r][i]);
      tokens[r] = split(lines[r]);
    }
    const std::string hypothesis = tokenize(hypotheses[i]);
    sum += bleu_statistics(split(hypothesis), tokens);
  }
  return sum;
}

}  // namespace detail

}  // namespace weft::metrics
