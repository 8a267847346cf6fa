// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Builds messages from values: `text("layer_norm: x is ", x.shape())`.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace weft {

namespace detail {

inline void append_text(std::string& out, std::string_view part) { out += part; }
inline void append_text(std::string& out, const char* part) { out += part; }
inline void append_text(std::string& out, char part) { out += part; }
inline void append_text(std::string& out, bool part) { out += part ? "true" : "false"; }

template <class T>
  requires std::integral<T> || std::floating_point<T>
void append_text(std::string& out, T part) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
  out.append(digits, end);
}

//! Anything that has a `to_text` beside its type (a shape, a device, ...).
template <class T>
  requires requires(const T& part) {
    { to_text(part) } -> std::convertible_to<std::string>;
  }
void append_text(std::string& out, const T& part) {
  out += to_text(part);
}

}  // namespace detail

//! Joins its arguments into one string. Numbers are written in full and without a locale.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_text(out, parts), ...);
  return out;
}

}  // namespace weft
