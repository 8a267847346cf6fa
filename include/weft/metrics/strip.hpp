// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Takes the white space from the ends of a line, as Python's `lstrip` and `rstrip`.
#pragma once

#include <weft/data/words.hpp>

#include <cstddef>
#include <string_view>

namespace weft::metrics {

//! A line without the white space at its start.
[[nodiscard]] constexpr std::string_view strip_left(std::string_view line) {
  std::size_t begin = line.size();
  data::for_each_word(line, [&](std::string_view word) {
    if (begin == line.size()) begin = static_cast<std::size_t>(word.data() - line.data());
  });
  return line.substr(begin);
}

//! A line without the white space at its end.
[[nodiscard]] constexpr std::string_view strip_right(std::string_view line) {
  std::size_t end = 0;
  data::for_each_word(line, [&](std::string_view word) {
    end = static_cast<std::size_t>(word.data() - line.data()) + word.size();
  });
  return line.substr(0, end);
}

}  // namespace weft::metrics
