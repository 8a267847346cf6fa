// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What files say, for messages.
#pragma once

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft::io::detail {

//! What a file that may be hostile holds, for a message: of bounded length, without control
//! characters.
[[nodiscard]] inline std::string readable(std::string_view said, std::size_t longest_bytes = 120) {
  std::string out;
  for (std::size_t at = 0; at < said.size();) {
    if (at >= longest_bytes) return out + "...";
    const auto [code_point, bytes] = decode_utf8(said.substr(at));
    const bool can_be_read =
        bytes > 0 && code_point >= 0x20 && !(code_point >= 0x7F && code_point < 0xA0);
    const auto character = said.substr(at, static_cast<std::size_t>(std::max(bytes, index_t{1})));
    out += can_be_read ? character : "?";
    at += character.size();
  }
  return out;
}

//! A name from such a file, in quotes.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  return '"' + readable(name) + '"';
}

//! A shape; of one with more extents than a tensor can have, the first.
[[nodiscard]] inline std::string to_text(std::span<const index_t> shape) {
  constexpr std::size_t most = 64;
  std::string out = "(";
  for (const index_t extent : shape.first(std::min(shape.size(), most))) {
    out += text(out.size() > 1 ? ", " : "", extent);
  }
  return out + (shape.size() > most ? ", ...)" : ")");
}

}  // namespace weft::io::detail
