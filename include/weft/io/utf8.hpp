// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads and writes single characters of UTF-8 text.
#pragma once

#include <weft/core/index.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weft::io {

//! A character and the number of bytes that it takes; no bytes where the text is not UTF-8.
struct Utf8Character {
  char32_t code_point = 0;  //!< Unicode's number of it
  index_t bytes = 0;        //!< 1 to 4, or 0

  friend constexpr bool operator==(const Utf8Character&, const Utf8Character&) = default;
};

//! The first character of `text`.
//!
//! Overlong forms, surrogates, code points beyond U+10FFFF and characters that the text's end cuts
//! off are not UTF-8.
//!
//! **Source.** RFC 3629, section 4.
[[nodiscard]] constexpr Utf8Character decode_utf8(std::string_view text) noexcept {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t at) -> char32_t {
    return static_cast<unsigned char>(text[at]);
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return {};
  char32_t code_point = lead & (0x7F >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(at) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code_point < 0x800) || (bytes == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (overlong || surrogate || code_point > 0x10FFFF) return {};
  return {code_point, static_cast<index_t>(bytes)};
}

//! Calls `visit(code_point, character)` for each character of `text` in order. A byte that is not
//! UTF-8 is a character of its own, with code point 0.
template <class Visit>
constexpr void for_each_character(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto [code_point, size] = decode_utf8(text);
    const auto bytes = static_cast<std::size_t>(std::max(size, index_t{1}));
    visit(code_point, text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
}

//! Appends a code point (at most U+10FFFF, not a surrogate) to `out`.
constexpr void append_utf8(std::string& out, char32_t code_point) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | (code_point >> shift & 0x3F));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

//! The offset of the first byte that is not part of a UTF-8 character, if there is one.
[[nodiscard]] constexpr std::optional<index_t> find_invalid_utf8(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto bytes = decode_utf8(text.substr(at)).bytes;
    if (bytes == 0) return static_cast<index_t>(at);
    at += static_cast<std::size_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace weft::io
