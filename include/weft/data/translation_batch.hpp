// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A batch of sentences as a translation model takes it.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/token_rows.hpp>

#include <iterator>
#include <span>
#include <vector>

namespace weft::data {

//! B sentences and their translations, in packed rows without padding.
//!
//! What the decoder reads at a position and what it should say there stand at the same place of
//! `target_input` and `target_output`, whose offsets are equal.
struct TranslationBatch {
  TokenRows source;                //!< The words and `<eos>`.
  TokenRows target_input;          //!< `<bos>` and the words.
  TokenRows target_output;         //!< The words and `<eos>`.
  std::vector<index_t> sentences;  //!< Which sentence of the corpus each row is.

  //! B, the number of sentences.
  [[nodiscard]] index_t size() const noexcept { return std::ssize(sentences); }

  //! The tokens over which a loss is averaged.
  [[nodiscard]] index_t target_tokens() const noexcept { return std::ssize(target_output.tokens); }

  friend bool operator==(const TranslationBatch&, const TranslationBatch&) = default;
};

//! Makes `batch` of these sentences of the corpus, in the memory that it has if that is enough.
//!
//! **Errors.** ArgumentError for a sentence that the corpus does not have.
inline void fill_batch(const ParallelCorpus& corpus, std::span<const index_t> sentences,
                       TranslationBatch& batch) {
  batch.source.clear();
  batch.target_input.clear();
  batch.target_output.clear();
  batch.sentences.assign(sentences.begin(), sentences.end());
  for (const index_t sentence : sentences) {
    if (sentence < 0 || sentence >= corpus.size()) {
      throw ArgumentError(
          text("fill_batch: there is no sentence ", sentence, " in a corpus of ", corpus.size()));
    }
    batch.source.append(corpus.source[sentence]);
    batch.source.tokens.push_back(corpus.source_eos);
    batch.source.end_row();

    batch.target_input.tokens.push_back(corpus.target_bos);
    batch.target_input.append(corpus.target[sentence]);
    batch.target_input.end_row();

    batch.target_output.append(corpus.target[sentence]);
    batch.target_output.tokens.push_back(corpus.target_eos);
    batch.target_output.end_row();
  }
}

}  // namespace weft::data
