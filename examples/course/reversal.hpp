// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Batches of a task that is learnt in seconds: to say a sentence backwards.
#pragma once

#include <weft/core/philox.hpp>
#include <weft/data/translation_batch.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace course {

inline constexpr weft::token_t bos = 2, eos = 3;

//! Random sentences of 1 to 8 of twenty words, and the same backwards.
inline weft::data::TranslationBatch reversal_batch(weft::index_t sentences, std::uint32_t number) {
  weft::data::TranslationBatch batch;
  for (weft::index_t sentence = 0; sentence < sentences; ++sentence) {
    const auto row = static_cast<std::uint32_t>(sentence);
    const auto random = [&](std::uint32_t i, std::uint32_t below) {
      return weft::philox({i, row, number, 0}, weft::RandomKey(1, 1))[0] % below;
    };
    std::vector<weft::token_t> words(1 + random(0, 8));
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      words[i] = 4 + static_cast<weft::token_t>(random(i + 1, 20));
    }
    const auto add = [](weft::data::TokenRows& rows, std::span<const weft::token_t> tokens) {
      rows.append(tokens);
      rows.end_row();
    };
    auto source = words;
    source.push_back(eos);
    add(batch.source, source);
    std::ranges::reverse(words);
    auto input = words, output = words;
    input.insert(input.begin(), bos);
    output.push_back(eos);
    add(batch.target_input, input);
    add(batch.target_output, output);
    batch.sentences.push_back(sentence);
  }
  return batch;
}

}  // namespace course
