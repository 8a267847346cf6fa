// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The batch of language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/train/device_batch.hpp>

namespace benchmark {

//! Sequences of a text, each token's label the next one.
struct TextBatch {
  weft::data::TokenRows input, labels;

  //! Cuts a text, of a token more than there are in all sequences.
  TextBatch(weft::index_t length, std::span<const weft::token_t> text) {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      input.tokens.push_back(text[i]);
      labels.tokens.push_back(text[i + 1]);
      if (std::ssize(input.tokens) % length == 0) {
        input.end_row();
        labels.end_row();
      }
    }
  }
  [[nodiscard]] weft::index_t size() const { return input.size(); }
  [[nodiscard]] std::uint64_t fingerprint() const { return input.fingerprint(); }
  template <class D>
  [[nodiscard]] weft::parallel::MicroBatch<weft::TokenSequences<D>, D> part(
      D& device, weft::Range range) const {
    return {weft::train::to_sequences(device, input, range),
            weft::train::to_sequences(device, labels, range).ids};
  }
};

//! What steps are timed with: token i is the same in peers/torch_language_model.py.
inline TextBatch timed_text(weft::index_t sequences, weft::index_t length,
                            weft::index_t vocabulary) {
  std::vector<weft::token_t> text;
  for (weft::index_t i = 0; i <= sequences * length; ++i) {
    text.push_back(static_cast<weft::token_t>((i * 7919 + 13) % vocabulary));
  }
  return {length, text};
}

}  // namespace benchmark
