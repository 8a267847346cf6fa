// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How far a loop is, in one line.
#pragma once

#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::train {

//! What a progress line tells.
struct ProgressState {
  std::string_view description;  //!< what the loop does; may be empty
  index_t done = 0;              //!< steps
  index_t total = 0;             //!< steps; 0 if unknown
  double elapsed_s = 0;          //!< since the beginning
  double steps_per_s = 0;        //!< 0 if unknown
  std::string_view postfix;      //!< such as "loss=1.23"; may be empty
  std::string_view unit = "it";  //!< a step's name
};

namespace detail {

//! `MM:SS`, from an hour on `H:MM:SS`.
[[nodiscard]] inline std::string clock_text(double seconds) {
  const auto total = static_cast<index_t>(std::clamp(seconds, 0.0, 3.6e12));
  const auto two_digits = [](index_t n) { return text(n < 10 ? "0" : "", n); };
  const index_t hours = total / 3600;
  const std::string rest = two_digits(total / 60 % 60) + ":" + two_digits(total % 60);
  return hours > 0 ? text(hours, ":", rest) : rest;
}

//! At least five characters, two decimals, steps per second or, below one, seconds per step.
[[nodiscard]] inline std::string rate_text(double steps_per_s, std::string_view unit) {
  if (!(steps_per_s > 0)) return text("?", unit, "/s");
  const bool slow = steps_per_s < 1;
  std::string number = fixed(slow ? 1 / steps_per_s : steps_per_s, 2);
  if (number.size() < 5) number.insert(0, 5 - number.size(), ' ');
  return slow ? text(number, "s/", unit) : text(number, unit, "/s");
}

//! A bar of that many columns: whole blocks and one of eight partial ones.
[[nodiscard]] inline std::string bar_text(double fraction, index_t columns) {
  constexpr std::string_view parts[] = {" ",      "\u258F", "\u258E", "\u258D",
                                        "\u258C", "\u258B", "\u258A", "\u2589"};
  const auto eighths = static_cast<index_t>(fraction * static_cast<double>(columns) * 8);
  std::string out;
  for (index_t column = 0; column < columns; ++column) {
    const index_t filled = eighths - 8 * column;
    out += filled >= 8 ? "\u2588" : parts[std::max(filled, index_t{0})];
  }
  return out;
}

//! The columns that a terminal gives a character: two for East Asian ones and emoji.
[[nodiscard]] constexpr index_t columns_of(char32_t c) {
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1F64F) ||
                    (c >= 0x1F900 && c <= 0x1F9FF) || (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

[[nodiscard]] inline index_t columns_of(std::string_view line) {
  index_t columns = 0;
  io::for_each_character(
      line, [&](char32_t code_point, std::string_view) { columns += columns_of(code_point); });
  return columns;
}

//! A line without the characters at its end that do not fit into that many columns.
[[nodiscard]] inline std::string cut(std::string line, index_t columns) {
  index_t excess = columns_of(line) - columns;
  while (excess > 0) {
    std::size_t begin = line.size() - 1;
    while (begin > 0 && (line[begin] & 0xC0) == 0x80) --begin;  // the bytes that continue it
    excess -= columns_of(line.substr(begin));
    line.resize(begin);
  }
  return line;
}

}  // namespace detail

//! The line of a terminal that is `columns` wide; without a bar, and as long as it is, for 0.
//!
//!     train:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, loss=1.23]
//!
//! That is elapsed time, remaining time, rate, postfix. Without a total, or beyond it, there is no
//! bar: `train: 45it [00:10,  4.50it/s, loss=1.23]`. Where the line is too narrow the bar shrinks,
//! then goes, then the line is cut.
//! **Source.** The format of Python's tqdm.
[[nodiscard]] inline std::string progress_line(const ProgressState& state, index_t columns = 0,
                                               std::string_view before_bar = "",
                                               std::string_view after_bar = "") {
  const bool bounded = state.total > 0 && state.done <= state.total;
  const std::string description =
      state.description.empty() ? std::string() : text(state.description, ": ");
  const std::string speed = text(detail::rate_text(state.steps_per_s, state.unit),
                                 state.postfix.empty() ? "" : ", ", state.postfix, "]");
  const std::string elapsed = detail::clock_text(state.elapsed_s);
  if (!bounded) {
    const auto line = text(description, state.done, state.unit, " [", elapsed, ", ", speed);
    return columns > 0 ? detail::cut(line, columns) : line;
  }
  const double fraction = static_cast<double>(state.done) / static_cast<double>(state.total);
  const double steps_left = static_cast<double>(state.total - state.done);
  const std::string remaining =
      state.steps_per_s > 0 ? detail::clock_text(steps_left / state.steps_per_s) : "?";
  std::string percent = fixed(100 * fraction, 0);
  percent.insert(0, 3 - percent.size(), ' ');
  const std::string left = text(description, percent, "%");
  const std::string right =
      text(" ", state.done, "/", state.total, " [", elapsed, "<", remaining, ", ", speed);
  if (columns == 0) return left + right;
  const index_t room = columns - detail::columns_of(left) - detail::columns_of(right) - 2;
  if (room < 1) return detail::cut(left + right, columns);
  return text(left, "|", before_bar, detail::bar_text(fraction, room), after_bar, "|", right);
}

}  // namespace weft::train
