// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Perplexity of a corpus.
#pragma once

#include <weft/core/sum_count.hpp>

#include <cmath>

namespace weft::metrics {

//! How many words a model hesitates between, on average.
//!
//!     perplexity = exp(loss / tokens)
//!
//! **Units.** `loss` is the sum of -ln p over the tokens (nats), without label smoothing.
//! Means above 709.78 overflow to infinity; a loss that is NaN gives NaN.
//! **Errors.** DataError unless there are tokens.
[[nodiscard]] inline double perplexity(Sum<of::Loss> loss, Count<of::Tokens> tokens) {
  return std::exp(mean(loss, tokens).value());
}

}  // namespace weft::metrics
