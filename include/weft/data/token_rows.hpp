// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sentences of different lengths, packed one after the other.
#pragma once

#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace weft::data {

//! Rows of tokens without padding: row n is tokens[offsets[n]], ..., tokens[offsets[n + 1] - 1].
struct TokenRows {
  std::vector<token_t> tokens;         //!< of all rows
  std::vector<index_t> offsets = {0};  //!< One more than there are rows.

  //! How many rows there are.
  [[nodiscard]] index_t size() const noexcept { return std::ssize(offsets) - 1; }

  //! How many tokens a row has.
  [[nodiscard]] index_t length(index_t row) const noexcept {
    const auto at = static_cast<std::size_t>(row);
    return offsets[at + 1] - offsets[at];
  }

  //! A row's tokens.
  [[nodiscard]] std::span<const token_t> operator[](index_t row) const noexcept {
    return std::span(tokens).subspan(
        static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)]),
        static_cast<std::size_t>(length(row)));
  }

  //! Differs where rows do: ranks ask whether they were given the same batch, each time.
  //!
  //! **Cost.** A multiplication for each token: some 0.1 ms for 50,000 of them.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept {
    Fingerprint fingerprint;
    for (index_t row = 0; row < size(); ++row) {
      fingerprint.add(static_cast<std::uint64_t>(length(row)));
    }
    return fingerprint.add(std::span<const token_t>(tokens)).value();
  }

  //! Appends tokens of the row that `end_row` will make.
  void append(std::span<const token_t> words) {
    tokens.insert(tokens.end(), words.begin(), words.end());
  }

  //! Makes a row of the tokens that were appended to `tokens` since the last one.
  void end_row() { offsets.push_back(std::ssize(tokens)); }

  //! Drops all rows and keeps their memory.
  void clear() noexcept {
    tokens.clear();
    offsets.resize(1);
  }

  friend bool operator==(const TokenRows&, const TokenRows&) = default;
};

}  // namespace weft::data
