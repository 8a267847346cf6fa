// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sentences and their translations, read from two files of lines or one of columns.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/words.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/lines.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::data {

//! Pairs of sentences in two languages. A pair with a side that has no word is not kept.
struct ParallelText {
  static constexpr index_t longest_list = 5;  //!< Of the lines that a report names.

  std::string name;  //!< Where it comes from, for messages.
  std::vector<std::string> source;     //!< a sentence a pair
  std::vector<std::string> target;     //!< its translation
  std::vector<index_t> lines;          //!< Where each pair stood in its file; the first is 1.
  index_t skipped = 0;                 //!< Pairs with a side without words, ...
  std::vector<index_t> skipped_lines;  //!< ... and where the first few stood.

  //! How many pairs there are.
  [[nodiscard]] index_t size() const noexcept { return std::ssize(source); }

  //! Adds the pair of a line, or counts it as skipped.
  void add(index_t line, std::string source_sentence, std::string target_sentence) {
    if (is_blank(source_sentence) || is_blank(target_sentence)) {
      ++skipped;
      if (std::ssize(skipped_lines) < longest_list) skipped_lines.push_back(line);
      return;
    }
    source.push_back(std::move(source_sentence));
    target.push_back(std::move(target_sentence));
    lines.push_back(line);
  }

 private:
  static bool is_blank(std::string_view sentence) {
    bool blank = true;
    for_each_word(sentence, [&](std::string_view) { blank = false; });
    return blank;
  }
};

//! For example "skipped, a side without words: 2 (at 7, 9)".
[[nodiscard]] inline std::string skipped_text(index_t skipped,
                                              std::span<const index_t> first_lines) {
  std::string out = text("skipped, a side without words: ", skipped, " (at");
  std::string_view before = " ";
  for (const index_t line : first_lines) {
    out += text(before, line);
    before = ", ";
  }
  return out + (skipped > std::ssize(first_lines) ? ", ...)" : ")");
}

namespace detail {

//! The beginning of a line, for messages.
inline std::string_view beginning(std::string_view line) {
  constexpr std::size_t longest_bytes = 60;
  if (line.size() <= longest_bytes) return line;
  std::size_t end = longest_bytes;
  while (end > 0 && (line[end] & '\xC0') == '\x80') --end;  // not inside a character
  return line.substr(0, end);
}

//! Says that two files differ in length, and which lines stand alone. `longer` has just given
//! `line`.
[[noreturn]] inline void refuse_unpaired(io::LineReader& longer, std::string line,
                                         const io::LineReader& shorter) {
  constexpr int longest_list = 3;
  std::string unpaired;
  int listed = 0;
  do {
    if (++listed <= longest_list)
      unpaired += text("\n  line ", longer.number(), ": ", io::detail::readable(beginning(line)));
  } while (longer.next(line));
  if (listed > longest_list) unpaired += "\n  ...";
  throw DataError(text(longer.path(), " has ", longer.number(), " lines and ", shorter.path(),
                       " has ", shorter.number(), "; without a partner in ", longer.path(), ":",
                       unpaired));
}

}  // namespace detail

//! Reads two text files, plain or gzip, of which line n of one translates line n of the other.
//!
//! **Errors.** Those of io::LineReader; DataError, with both counts and the first lines that have
//! no partner, if the files differ in length.
[[nodiscard]] inline ParallelText read_line_files(const std::string& source_path,
                                                  const std::string& target_path) {
  io::LineReader sources(source_path);
  io::LineReader targets(target_path);
  ParallelText pairs;
  pairs.name = text(source_path, " and ", target_path);
  std::string source;
  std::string target;
  for (;;) {
    const bool has_source = sources.next(source);
    const bool has_target = targets.next(target);
    if (has_source && !has_target) detail::refuse_unpaired(sources, source, targets);
    if (has_target && !has_source) detail::refuse_unpaired(targets, target, sources);
    if (!has_source) return pairs;
    pairs.add(sources.number(), source, target);
  }
}

//! Reads a text file, plain or gzip, each line a source sentence, a tab and a target sentence.
//!
//! **Errors.** Those of io::LineReader; FormatError for a line with no tab or more than one.
[[nodiscard]] inline ParallelText read_tsv(const std::string& path) {
  io::LineReader reader(path);
  ParallelText pairs;
  pairs.name = path;
  for (std::string line; reader.next(line);) {
    const auto tab = line.find('\t');
    if (tab == line.npos || line.find('\t', tab + 1) != line.npos) {
      throw FormatError(text(path, ", line ", reader.number(), ": expected two columns, found ",
                             tab == line.npos ? "no tab" : "more than one tab"));
    }
    pairs.add(reader.number(), line.substr(0, tab), line.substr(tab + 1));
  }
  return pairs;
}

}  // namespace weft::data
