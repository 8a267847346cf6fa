// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Draws words by their probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::generate {

//! By which probabilities words are drawn.
struct Sampling {
  double temperature = 0.0;  //!< those of logits / temperature; at 0 the likeliest word is taken
  index_t top_k = 0;         //!< of so many likeliest words alone; 0: of all
  double top_p = 1.0;        //!< of the fewest likeliest words that have this probability together
};

namespace detail {

//! **Errors.** ArgumentError, which begins with `name`, for what cannot be drawn by.
inline void check_sampling(const char* name, const Sampling& sampling) {
  const auto& [temperature, top_k, top_p] = sampling;
  if (temperature >= 0.0 && std::isfinite(temperature) && top_k >= 0 && top_p > 0.0 && top_p <= 1.0)
    return;
  throw ArgumentError(
      text(name, ": a temperature of ", temperature, ", top_k of ", top_k, ", top_p of ", top_p));
}

//! A word and what its probability is in proportion to.
struct WeightedWord {
  token_t word;
  double weight;
};

//! The likeliest words in falling order, of equals the first: at most `top_k` of them, and of those
//! the fewest that have a share of `top_p` of their weight.
inline std::vector<WeightedWord> likeliest_words(std::vector<WeightedWord> words, index_t top_k,
                                                 double top_p) {
  const auto sum = [](const std::vector<WeightedWord>& of) {
    double all = 0.0;
    for (const WeightedWord& word : of) all += word.weight;
    return all;
  };
  const double of_all = sum(words);
  const auto less = [](const WeightedWord& a, const WeightedWord& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.word > b.word;
  };
  std::ranges::make_heap(words, less);  // of many words few are wanted
  std::vector<WeightedWord> kept;
  const auto take_largest = [&] {
    std::ranges::pop_heap(words, less);
    kept.push_back(words.back());
    words.pop_back();
  };
  if (top_k > 0) {
    while (!words.empty() && std::ssize(kept) < top_k) take_largest();
    words.clear();
  }
  const double enough = top_p * (top_k > 0 ? sum(kept) : of_all);
  std::size_t count = 0;
  for (double share = 0.0; share < enough; share += kept[count++].weight) {
    if (count == kept.size() && words.empty()) break;
    if (count == kept.size()) take_largest();
  }
  kept.resize(count);
  return kept;
}

}  // namespace detail

//! A word by the probabilities softmax(logits / temperature), of those that `sampling` leaves;
//! at temperature 0 the likeliest one, of equals the first. `uniform`, in [0, 1), chooses.
//!
//! **Shapes.** logits: (V), V > 0; none NaN or plus infinity, not all minus infinity.
//! **Errors.** ArgumentError for a temperature below 0 or infinite, a top_k below 0, a top_p that
//! is not above 0 and at most 1, or no words.
//! **Source.** top_p: Holtzman et al. 2020. Both as in Hugging Face's `generate`, top_k first, but
//! that of equals the first are left: there top_k leaves all that equal its last word, and top_p no
//! certain ones.
[[nodiscard]] inline token_t sample_word(std::span<const float> logits, const Sampling& sampling,
                                         double uniform) {
  detail::check_sampling("sample_word", sampling);
  if (logits.empty()) throw ArgumentError("sample_word: no words");
  const auto largest = std::ranges::max_element(logits);
  if (sampling.temperature == 0.0) return static_cast<token_t>(largest - logits.begin());
  std::vector<detail::WeightedWord> words;
  words.reserve(logits.size());
  for (std::size_t word = 0; word < logits.size(); ++word) {
    const double below = static_cast<double>(logits[word]) - static_cast<double>(*largest);
    words.push_back({static_cast<token_t>(word), std::exp(below / sampling.temperature)});
  }
  if (sampling.top_k > 0 || sampling.top_p < 1.0) {
    words = detail::likeliest_words(std::move(words), sampling.top_k, sampling.top_p);
  }
  double sum = 0.0;
  for (const auto& [word, weight] : words) sum += weight;
  double rest = uniform * sum;
  token_t last = 0;  // of those that have a weight: what rounding leaves is its
  for (const auto& [word, weight] : words) {
    if (!(weight > 0.0)) continue;
    last = word;
    rest -= weight;
    if (rest < 0.0) break;
  }
  return last;
}

}  // namespace weft::generate
