// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tokenizer that makes every character a token.
#pragma once

#include <weft/io/utf8.hpp>

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
    io::for_each_character(line, [&](char32_t, std::string_view character) {
      if (!out.empty()) out += ' ';
      out += character;
    });
    return out;
  }
};

}  // namespace weft::metrics
