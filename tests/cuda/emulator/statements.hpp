// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The text of PTX cut into statements.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

//! Ends the program, from whichever thread.
[[noreturn]] inline void end(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

//! What the emulator does not know: of an instruction, of a directive, of a launch.
[[noreturn]] inline void unknown(const std::string& what) { end("emulated GPU: unknown: " + what); }

//! A text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

//! The parts of a list, which commas divide that are in no brackets.
inline std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    if (const auto part = trimmed(list.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

//! The text without what is between `begin` and `end`.
inline std::string without(std::string_view text, std::string_view begin, std::string_view end) {
  std::string kept;
  for (;;) {
    const auto from = text.find(begin);
    kept += text.substr(0, from);
    if (from == std::string_view::npos) return kept;
    const auto to = text.find(end, from + begin.size());
    if (to == std::string_view::npos) return kept;
    text.remove_prefix(to + end.size());
    kept += ' ';
  }
}

//! Statements without their semicolons; `{` and `}` where a scope begins and ends, and labels with
//! their colons, are statements of their own. `text` must outlive them.
inline std::vector<std::string_view> statements_of(std::string_view text) {
  std::vector<std::string_view> statements;
  std::size_t begin = 0;
  int depth = 0;  // of the braces of operands
  const auto said = [&](std::size_t end) { return trimmed(text.substr(begin, end - begin)); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (std::string_view(";{}:\n").find(c) == std::string_view::npos) continue;
    const auto before = said(i);
    const bool opens_kernel = c == '{' && before.find(".entry") != std::string_view::npos;
    if (c == '{' && !before.empty() && !opens_kernel) {
      ++depth;
    } else if (c == '}' && depth > 0) {
      --depth;
    } else if (c == ';' || c == '{' || c == '}') {
      if (!before.empty()) statements.push_back(before);
      if (c != ';') statements.push_back(text.substr(i, 1));
      begin = i + 1;
    } else if (c == ':' && before.starts_with('$')) {
      statements.push_back(trimmed(text.substr(begin, i + 1 - begin)));
      begin = i + 1;
    } else if (c == '\n' && (before.starts_with(".version") || before.starts_with(".target") ||
                             before.starts_with(".address_size"))) {
      begin = i + 1;
    }
  }
  return statements;
}

}  // namespace emulator
