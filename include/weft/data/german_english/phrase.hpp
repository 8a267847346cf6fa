// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Something said in German and in English.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace weft::data::german_english {

//! Words and their translation, each parted by single spaces.
struct Phrase {
  std::string german;   //!< the words
  std::string english;  //!< their translation

  friend bool operator==(const Phrase&, const Phrase&) = default;
};

//! Puts a space between the parts, of which empty ones do not count.
[[nodiscard]] inline std::string join(std::initializer_list<std::string_view> parts) {
  std::string words;
  for (const auto part : parts) {
    if (!words.empty() && !part.empty()) words += ' ';
    words += part;
  }
  return words;
}

}  // namespace weft::data::german_english
