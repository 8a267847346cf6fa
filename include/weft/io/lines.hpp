// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Reads and writes the lines of text files.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/atomic_file.hpp>
#include <weft/io/input_file.hpp>
#include <weft/io/utf8.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::io {

//! The longest line that is read if nothing else is asked for: longer ones are rarely text.
inline constexpr index_t default_longest_line_bytes = index_t{1} << 20;

namespace detail {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace detail

//! Refuses a line that is no text.
//!
//! **Errors.** FormatError, naming the file and the line, unless it is UTF-8 without a NUL byte.
inline void expect_text(std::string_view file, index_t number, std::string_view line) {
  const auto refuse = [&](const auto&... why) {
    throw FormatError(text(file, ", line ", number, ": byte ", why...));
  };
  if (const auto nul = line.find('\0'); nul != line.npos) refuse(nul, " is NUL: not a text file");
  if (const auto at = find_invalid_utf8(line)) {
    const unsigned char value = static_cast<unsigned char>(line[static_cast<std::size_t>(*at)]);
    constexpr std::string_view digits = "0123456789abcdef";
    refuse(*at, " (0x", digits[value / 16], digits[value % 16], ") is not UTF-8");
  }
}

//! Reads a UTF-8 text file (or what a gzip file holds) line by line, in bounded memory.
//!
//! A line ends with LF or CR LF, the last one also without; neither belongs to the line. A byte
//! order mark at the file's start is dropped. An empty file has no lines.
//!
//! **Errors.** Those of InputFile, and FormatError, naming path and line, for a line that is not
//! UTF-8, holds a NUL byte, or is longer than `longest_line_bytes`.
class LineReader {
 public:
  //! Opens the file. **Errors.** ArgumentError if the longest line has no byte.
  explicit LineReader(std::string path, index_t longest_line_bytes = default_longest_line_bytes)
      : file_(std::move(path)), longest_line_bytes_(longest_line_bytes), buffer_(1 << 16) {
    if (longest_line_bytes < 1) {
      throw ArgumentError(text("lines: the longest line is ", longest_line_bytes, " bytes"));
    }
  }

  //! Replaces `line` by the next line; false at the end of the file.
  [[nodiscard]] bool next(std::string& line) {
    line.clear();
    ++number_;
    bool ended = false;
    while (!ended && (!unread_.empty() || refill())) {
      const auto newline = unread_.find('\n');
      ended = newline != std::string_view::npos;
      line += unread_.substr(0, newline);
      unread_.remove_prefix(ended ? newline + 1 : unread_.size());
      check_length(line);
    }
    if (!ended && line.empty()) {
      --number_;
      return false;
    }
    if (line.ends_with('\r')) line.pop_back();
    expect_text(path(), number_, line);
    return true;
  }

  //! The number of the line that `next` gave last; the first is 1.
  [[nodiscard]] index_t number() const noexcept { return number_; }

  //! As the constructor was given it.
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

 private:
  bool refill() {
    const auto got = read();
    unread_ = std::string_view(buffer_.data(), static_cast<std::size_t>(got));
    if (first_ && unread_.starts_with(detail::byte_order_mark)) {
      unread_.remove_prefix(detail::byte_order_mark.size());
    }
    first_ = false;
    return got > 0;  // with the mark alone, what comes next may be damage
  }

  index_t read() {
    try {
      return file_.read(buffer_.data(), std::ssize(buffer_));
    } catch (const FormatError& error) {
      throw FormatError(text(error.message(), " in line ", number_));
    }
  }

  void check_length(std::string_view line) const {
    const auto bytes = std::ssize(line) - (line.ends_with('\r') ? 1 : 0);
    if (bytes > longest_line_bytes_) {
      throw FormatError(
          text(path(), ", line ", number_, ": longer than ", longest_line_bytes_, " bytes"));
    }
  }

  InputFile file_;
  index_t longest_line_bytes_;
  std::vector<char> buffer_;
  std::string_view unread_;  // of buffer_
  index_t number_ = 0;
  bool first_ = true;
};

//! All lines of a text file or of what a gzip file holds; see LineReader.
[[nodiscard]] inline std::vector<std::string> read_lines(
    const std::string& path, index_t longest_line_bytes = default_longest_line_bytes) {
  LineReader reader(path, longest_line_bytes);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

//! Writes a text file, each line ended by LF, in the place of the one that was there.
//!
//! **Errors.** ArgumentError for a line that LineReader would not give back as it is; those of
//! AtomicFile, and then the old file stays.
inline void write_lines(const std::string& path, std::span<const std::string> lines) {
  std::string contents;
  for (const auto& line : lines) {
    const auto refuse = [&](const char* why) {
      const auto number = &line - lines.data() + 1;
      throw ArgumentError(text(path, ", line ", number, ": \"", line.substr(0, 80), "\" ", why));
    };
    if (line.find('\n') != line.npos || line.ends_with('\r')) refuse("is not one line");
    if (line.find('\0') != line.npos) refuse("holds a NUL byte");
    if (find_invalid_utf8(line)) refuse("is not UTF-8");
    if (std::ssize(line) > default_longest_line_bytes) refuse("is too long to be read again");
    if (contents.empty() && line.starts_with(detail::byte_order_mark)) {
      refuse("begins with a byte order mark");
    }
    contents += line;
    contents += '\n';
  }
  write_file(path, contents);
}

}  // namespace weft::io
