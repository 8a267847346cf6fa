// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The batch of language models.
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/train/device_batch.hpp>

namespace benchmark {

//! Sequences of a text, each token's label the next one. Token i is the same in
//! peers/torch_language_model.py.
struct TextBatch {
  weft::data::TokenRows input, labels;

  TextBatch(weft::index_t sequences, weft::index_t length, weft::index_t vocabulary) {
    const auto word = [&](weft::index_t i) {
      return static_cast<weft::token_t>((i * 7919 + 13) % vocabulary);
    };
    for (weft::index_t i = 0; i < sequences * length; ++i) {
      input.tokens.push_back(word(i));
      labels.tokens.push_back(word(i + 1));
      if ((i + 1) % length == 0) {
        input.end_row();
        labels.end_row();
      }
    }
  }
  [[nodiscard]] weft::index_t size() const { return input.size(); }
  template <class D>
  [[nodiscard]] weft::parallel::MicroBatch<weft::TokenSequences<D>, D> part(
      D& device, weft::Range range) const {
    return {weft::train::to_sequences(device, input, range),
            weft::train::to_sequences(device, labels, range).ids};
  }
};

}  // namespace benchmark
