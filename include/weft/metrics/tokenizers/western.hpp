// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sets punctuation apart in languages that put spaces between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::metrics::detail {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_point_or_comma(char c) { return c == '.' || c == ','; }

//! The ASCII punctuation that always is a token: all but the apostrophe and , - . (and, as in the
//! source, the space).
[[nodiscard]] constexpr bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

//! Writes `before`, the first, `between`, the second, `after` for every two neighbours that
//! `matches`, from left to right, none in two pairs: a regular expression's global replacement.
template <class Matches>
[[nodiscard]] std::string replace_pairs(std::string_view line, Matches&& matches,
                                        std::string_view before, std::string_view between,
                                        std::string_view after) {
  std::string out;
  std::size_t at = 0;
  while (at < line.size()) {
    if (at + 1 < line.size() && matches(line[at], line[at + 1])) {
      (((out += before) += line[at]) += between) += line[at + 1];
      out += after;
      at += 2;
    } else {
      out += line[at++];
    }
  }
  return out;
}

//! The four steps that `13a` and `zh` share, each over the whole line: symbols apart; points and
//! commas apart unless a digit precedes them; then unless a digit follows them; dashes apart after
//! a digit.
//!
//! They may go byte by byte: every condition is on ASCII, and wherever two bytes of one character
//! could make a difference ("not a digit"), the bytes go out side by side either way.
//!
//! **Source.** The language-dependent part of NIST's mteval-v13a.pl, by way of sacreBLEU.
[[nodiscard]] inline std::string separate_punctuation(std::string_view line) {
  std::string out;
  for (const char c : line) {
    const bool apart = is_symbol(c);
    if (apart) out += ' ';
    out += c;
    if (apart) out += ' ';
  }
  out = replace_pairs(
      out, [](char a, char b) { return !is_digit(a) && is_point_or_comma(b); }, "", " ", " ");
  out = replace_pairs(
      out, [](char a, char b) { return is_point_or_comma(a) && !is_digit(b); }, " ", " ", "");
  return replace_pairs(
      out, [](char a, char b) { return is_digit(a) && b == '-'; }, "", " ", " ");
}

}  // namespace weft::metrics::detail
