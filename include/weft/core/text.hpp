// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Builds messages from values: `text("layer_norm: x is ", x.shape())`.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include <weft/core/version.hpp>

namespace weft {

namespace detail {

// Two candidates, and one function for a type: choosing among seven overloads at each of a
// thousand places took a tenth of the time that weft.hpp takes to compile.
inline void append_text(std::string& out, const char* part) { out += part; }

template <class T>
[[gnu::cold]] void append_text(std::string& out, const T& part) {
  if constexpr (std::same_as<T, bool>) {
    out += part ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    out += part;
  } else if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (std::is_floating_point_v<T>) {
      // to_chars would write a NaN's sign: x86's 0 / 0 has one.
      if (part != part) return append_text(out, "nan");
    }
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
    out.append(digits, end);
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    out += std::string_view(part);
  } else {
    static_assert(
        requires { to_text(part); }, "text: a part needs a function to_text beside its type");
    out += to_text(part);
  }
}

}  // namespace detail

//! Joins its arguments into one string. Numbers are written in full and without a locale.
//!
//! Cold: a program writes few messages and can write very many; compiling them for size takes a
//! twentieth less of the time for a whole program.
template <class... Parts>
[[nodiscard, gnu::cold]] std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_text(out, parts), ...);
  return out;
}

}  // namespace weft
