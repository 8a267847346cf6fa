// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a program is given to read.
#pragma once

#include <weft/core/error.hpp>
#include <weft/io/lines.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace examples {

//! All lines of standard input, without what ends them (LF or CR LF) and a byte order mark.
//!
//! **Errors.** SystemError if it cannot be read, as where it is a folder; FormatError, with the
//! line's number, for what is no text.
[[nodiscard]] inline std::vector<std::string> lines_of_standard_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (lines.empty() && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    weft::io::expect_text("standard input", std::ssize(lines) + 1, line);
    lines.push_back(std::move(line));
  }
  if (std::ferror(stdin) != 0 || std::cin.bad()) {
    throw weft::SystemError(weft::text("cannot read standard input: ", std::strerror(errno)));
  }
  return lines;
}

}  // namespace examples
