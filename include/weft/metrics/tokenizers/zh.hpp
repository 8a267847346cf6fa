// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tokenizer for Chinese.
#pragma once

#include <weft/io/utf8.hpp>
#include <weft/metrics/strip.hpp>
#include <weft/metrics/tokenizers/western.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace weft::metrics {

//! Makes every Chinese character a token and sets punctuation apart in the rest. sacreBLEU's `zh`.
struct ZhTokenizer {
  static constexpr std::string_view name = "zh";  //!< in sacreBLEU's signatures

  //! What sacreBLEU 2.6 takes for Chinese. Two of its ranges are not what they were meant to be (a
  //! backslash, u and 20000 in quotes are two characters in Python; mjpost/sacrebleu issue 298):
  //! dashes, quotation marks, arrows and mathematical signs count as Chinese, ideographs beyond
  //! U+FFFF do not. Scores that are to equal others' need the same ranges.
  [[nodiscard]] static constexpr bool is_chinese(char32_t c) noexcept {
    struct Range {
      char32_t first, last;
    };
    constexpr Range ranges[] = {
        {0x2001, 0x2A6D},  // meant: U+20000 to U+2A6D6, ideographs, extension B
        {0x2E80, 0x2EFF},  // radicals supplement
        {0x2F00, 0x2FDF},  // Kangxi radicals; also U+2F81 to U+2FA1, meant: U+2F800 to U+2FA1D
        {0x2FF0, 0x303F},  // structure of characters; punctuation
        {0x3100, 0x312F},  // phonetic symbols
        {0x31A0, 0x31BF},  // phonetic symbols of Taiwanese and Hakka
        {0x31C0, 0x31EF},  // strokes
        {0x3200, 0x33FF},  // enclosed letters and months; compatibility
        {0x3400, 0x4DB5},  // ideographs, extension A
        {0x4E00, 0x9FBB},  // ideographs
        {0xF900, 0xFA2D},  // compatibility ideographs, and the next two
        {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F},  // vertical forms
        {0xFE30, 0xFE4F},                                      // compatibility forms
        {0xFF00, 0xFFEF},                                      // full-width and half-width forms
    };
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [c](Range range) { return range.first <= c && c <= range.last; });
  }

  //! The line's tokens, parted by spaces.
  [[nodiscard]] std::string operator()(std::string_view line) const {
    line = strip_right(strip_left(line));
    std::string out;
    io::for_each_character(line, [&](char32_t code_point, std::string_view character) {
      const bool apart = is_chinese(code_point);
      if (apart) out += ' ';
      out += character;
      if (apart) out += ' ';
    });
    return detail::separate_punctuation(out);
  }
};

}  // namespace weft::metrics
