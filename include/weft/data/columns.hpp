// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A text as columns that a language model reads side by side.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/token_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::data {

//! Words, and of each the word that follows it.
struct LanguageModelBatch {
  TokenRows input;   //!< a row a column
  TokenRows output;  //!< the next words, at the same places

  //! How many columns there are.
  [[nodiscard]] index_t size() const noexcept { return input.size(); }

  friend bool operator==(const LanguageModelBatch&, const LanguageModelBatch&) = default;
};

//! A text cut into columns of the same length, which are read a chunk at a time: the nth chunk is
//! the same words of every column. What does not fill a column is left out.
//!
//! **Source.** `batchify` and `get_batch` of PyTorch's language model tutorials.
class Columns {
 public:
  //! **Errors.** ArgumentError unless there are columns and words in a chunk; DataError, with the
  //! name of the text, unless each column has two words: one to read and one to predict.
  Columns(std::vector<token_t> words, index_t columns, index_t chunk, std::string_view name)
      : words_(std::move(words)), columns_(columns), chunk_(chunk) {
    if (columns < 1 || chunk < 1) {
      throw ArgumentError(text("columns: ", columns, " columns, ", chunk, " words in a chunk"));
    }
    length_ = std::ssize(words_) / columns;
    if (length_ < 2) {
      throw DataError(text(name, ": ", words_.size(), " words do not fill ", columns,
                           " columns with two words each"));
    }
  }

  //! Words in each column.
  [[nodiscard]] index_t length() const noexcept { return length_; }

  //! Chunks of a column; the last one may be short.
  [[nodiscard]] index_t chunks() const noexcept { return (length_ - 2) / chunk_ + 1; }

  //! A number that differs where the words do.
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint fingerprint;
    for (const token_t word : words_) fingerprint.add(static_cast<std::uint64_t>(word));
    return fingerprint.value();
  }

  //! Replaces `batch` by a chunk: a row for each column.
  //!
  //! **Errors.** ArgumentError unless 0 <= chunk < chunks().
  void fill(index_t chunk, LanguageModelBatch& batch) const {
    if (chunk < 0 || chunk >= chunks()) {
      throw ArgumentError(text("columns: there is no chunk ", chunk, " of ", chunks()));
    }
    batch.input.clear();
    batch.output.clear();
    const index_t begin = chunk * chunk_;
    const index_t size = std::min(chunk_, length_ - 1 - begin);
    for (index_t column = 0; column < columns_; ++column) {
      append(batch.input, column * length_ + begin, size);
      append(batch.output, column * length_ + begin + 1, size);
    }
  }

 private:
  void append(TokenRows& rows, index_t first, index_t size) const {
    const auto from = words_.begin() + first;
    rows.tokens.insert(rows.tokens.end(), from, from + size);
    rows.end_row();
  }

  std::vector<token_t> words_;
  index_t columns_;
  index_t chunk_;
  index_t length_ = 0;
};

}  // namespace weft::data
