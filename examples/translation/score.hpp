// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file BLEU, as the options name it.
#pragma once

#include <weft/metrics/bleu.hpp>
#include <weft/metrics/multi_bleu.hpp>
#include <weft/metrics/tokenizers.hpp>

#include <string>
#include <utility>
#include <vector>

namespace translation {

//! BLEU in its line of text, for a tokenizer's name or "multi-bleu".
inline std::pair<double, std::string> bleu(const std::vector<std::string>& hypotheses,
                                           const std::vector<std::string>& references,
                                           const std::string& tokenize) {
  if (tokenize == "multi-bleu") {
    const auto score = weft::metrics::multi_bleu(hypotheses, references);
    return {score.score, weft::metrics::to_multi_bleu_text(score)};
  }
  const auto score =
      weft::metrics::corpus_bleu(hypotheses, references, weft::metrics::tokenizer_named(tokenize));
  return {score.score, to_text(score)};
}

}  // namespace translation
