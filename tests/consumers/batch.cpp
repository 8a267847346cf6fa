// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer.hpp"

weft::data::TranslationBatch copied_sentences(std::uint32_t update) {
  constexpr weft::token_t bos = 2, eos = 3;
  weft::data::TranslationBatch batch;
  for (weft::index_t sentence = 0; sentence < 16; ++sentence) {
    batch.target_input.tokens.push_back(bos);
    for (std::uint32_t word = 0; word < 5; ++word) {
      const auto random = weft::philox({word, static_cast<std::uint32_t>(sentence), update, 0},
                                       weft::RandomKey(1, 1));
      const auto token = static_cast<weft::token_t>(4 + random[0] % 12);
      for (auto* rows : {&batch.source, &batch.target_input, &batch.target_output}) {
        rows->tokens.push_back(token);
      }
    }
    batch.source.tokens.push_back(eos);
    batch.target_output.tokens.push_back(eos);
    for (auto* rows : {&batch.source, &batch.target_input, &batch.target_output}) rows->end_row();
    batch.sentences.push_back(sentence);
  }
  return batch;
}
