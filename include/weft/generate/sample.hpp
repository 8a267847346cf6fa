// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Draws words by their probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::generate {

//! A word by the probabilities softmax(logits / temperature); at temperature 0 the most probable
//! one, of equals the first. `uniform`, in [0, 1), chooses.
//!
//! **Shapes.** logits: (V), V > 0; they must be finite.
//! **Errors.** ArgumentError for a temperature below 0, or no words.
[[nodiscard]] inline token_t sample_word(std::span<const float> logits, double temperature,
                                         double uniform) {
  if (!(temperature >= 0.0) || logits.empty()) {
    throw ArgumentError(
        text("sample_word: a temperature of ", temperature, ", ", logits.size(), " words"));
  }
  const auto largest = std::ranges::max_element(logits);
  if (temperature == 0.0) return static_cast<token_t>(largest - logits.begin());
  const auto weight = [&](float logit) {
    return std::exp((static_cast<double>(logit) - static_cast<double>(*largest)) / temperature);
  };
  double sum = 0.0;
  for (const float logit : logits) sum += weight(logit);
  double rest = uniform * sum;
  std::size_t last = 0;  // of those that have a weight: what rounding leaves is its
  for (std::size_t word = 0; word < logits.size(); ++word) {
    const double its = weight(logits[word]);
    if (!(its > 0.0)) continue;
    last = word;
    rest -= its;
    if (rest < 0.0) break;
  }
  return static_cast<token_t>(last);
}

}  // namespace weft::generate
