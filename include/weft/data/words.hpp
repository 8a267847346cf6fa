// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Cuts a line into words at white space.
#pragma once

#include <weft/io/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::data {

//! Whether a code point separates words, as Python's `str.isspace` says.
[[nodiscard]] constexpr bool is_white_space(char32_t code_point) noexcept {
  if (code_point < 0x80) {
    return code_point == ' ' || (code_point >= 0x09 && code_point <= 0x0D) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return code_point == 0x85 || code_point == 0xA0 || code_point == 0x1680 ||
         (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x2028 ||
         code_point == 0x2029 || code_point == 0x202F || code_point == 0x205F ||
         code_point == 0x3000;
}

//! Calls `visit(word)` for each word of `line` in order, as Python's `line.split()` cuts it.
//!
//! Bytes that are not UTF-8 belong to words.
template <class Visit>
constexpr void for_each_word(std::string_view line, Visit&& visit) {
  std::size_t begin = 0, at = 0;
  io::for_each_character(line, [&](char32_t code_point, std::string_view character) {
    const auto end = std::exchange(at, at + character.size());
    if (!is_white_space(code_point)) return;
    if (begin < end) visit(line.substr(begin, end - begin));
    begin = at;
  });
  if (begin < line.size()) visit(line.substr(begin));
}

//! Calls `visit(piece)` for each piece of `line` in order. Only spaces part pieces: one of
//! SentencePiece's may hold other white space.
template <class Visit>
constexpr void for_each_piece(std::string_view line, Visit&& visit) {
  while (!line.empty()) {
    const auto end = std::min(line.find(' '), line.size());
    if (end > 0) visit(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

//! The words of a line; they look into `line`.
[[nodiscard]] inline std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  for_each_word(line, [&](std::string_view word) { words.push_back(word); });
  return words;
}

}  // namespace weft::data
