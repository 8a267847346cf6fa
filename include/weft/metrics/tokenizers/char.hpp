// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tokenizer that makes every character a token.
#pragma once

#include <weft/core/index.hpp>
#include <weft/io/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::metrics {

//! Puts a space between any two characters (code points). sacreBLEU's `char`.
//!
//! A byte that is not UTF-8 counts as a character.
struct CharTokenizer {
  static constexpr std::string_view name = "char";  //!< in sacreBLEU's signatures

  //! The line's tokens, parted by spaces.
  [[nodiscard]] std::string operator()(std::string_view line) const {
    std::string out;
    for (std::size_t at = 0; at < line.size();) {
      const auto bytes = std::max(io::decode_utf8(line.substr(at)).bytes, index_t{1});
      const auto character = line.substr(at, static_cast<std::size_t>(bytes));
      if (at > 0) out += ' ';
      out += character;
      at += character.size();
    }
    return out;
  }
};

}  // namespace weft::metrics
