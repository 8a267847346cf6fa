// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The tokenizer of the WMT evaluations.
#pragma once

#include <weft/metrics/tokenizers/western.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::metrics {

namespace detail {

[[nodiscard]] inline std::string replace_all(std::string_view line, std::string_view from,
                                             std::string_view to) {
  std::string out;
  for (;;) {
    const auto at = line.find(from);
    out += line.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    line.remove_prefix(at + from.size());
  }
}

}  // namespace detail

//! Unpacks four entities, joins words that a line's end hyphenates, sets punctuation apart.
//! sacreBLEU's `13a`, its default.
struct ThirteenATokenizer {
  static constexpr std::string_view name = "13a";  //!< in sacreBLEU's signatures

  //! The line's tokens, parted by spaces.
  [[nodiscard]] std::string operator()(std::string_view line) const {
    std::string out = detail::replace_all(line, "<skipped>", "");
    out = detail::replace_all(out, "-\n", "");
    out = detail::replace_all(out, "\n", " ");
    // In this order "&amp;lt;" becomes "<", but "&amp;quot;" becomes "&quot;".
    out = detail::replace_all(out, "&quot;", "\"");
    out = detail::replace_all(out, "&amp;", "&");
    out = detail::replace_all(out, "&lt;", "<");
    out = detail::replace_all(out, "&gt;", ">");
    return detail::separate_punctuation(' ' + out + ' ');
  }
};

}  // namespace weft::metrics
