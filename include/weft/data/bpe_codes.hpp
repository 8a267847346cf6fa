// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Cuts words into subwords by the codes of subword-nmt, and joins them again.
//!
//!     BpeCodes codes("codes.bpe");
//!     codes.split("ein Hundewetter");              // "ein Hunde@@ wetter", for example
//!     join_subwords("ein Hunde@@ wetter");         // "ein Hundewetter"
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/word_counts.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/lines.hpp>
#include <weft/io/utf8.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft::data {

//! Joins the parts of words that subword-nmt split with "@@ ". A line that was cut off inside a
//! word ends there.
[[nodiscard]] inline std::string join_subwords(std::string_view line) {
  std::string joined;
  for (std::size_t at = 0; at < line.size();) {
    const auto mark = line.substr(at, 3);
    if (mark == "@@ " || mark == "@@") {
      at += mark.size();
    } else {
      joined += line[at++];
    }
  }
  return joined;
}

//! Byte pair encoding: merges of two symbols into one, the earlier ones first.
//!
//! **Errors.** The constructor and `keep_known` throw those of io::LineReader, and FormatError with
//! path and line for what does not have their format.
//! **Cost.** O(n log n) for a word of n characters; words that were seen before are looked up. Not
//! for several threads at a time.
//! **Source.** Sennrich, Haddow, Birch 2016; the text is that of `subword-nmt apply-bpe` 0.3.8
//! without glossaries and dropout.
class BpeCodes {
 public:
  //! Reads a file of codes, plain or gzip: `#version: 0.2`, then two symbols a line, of which
  //! `</w>` ends a word. Without the first line, or with 0.1 in it, `</w>` is a symbol of its own.
  explicit BpeCodes(const std::string& path) : path_(path) {
    io::LineReader reader(path);
    std::string line;
    std::vector<Merge> merges;
    index_t blank = 0;  // the first of the lines at the end that may be empty
    while (reader.next(line)) {
      if (reader.number() == 1 && line.starts_with("#version:")) {
        read_version(trimmed(line.substr(9)));
        continue;
      }
      const auto pair = trimmed(line);
      if (pair.empty()) {
        if (blank == 0) blank = reader.number();
        continue;
      }
      const auto space = pair.find(' ');
      if (blank > 0 || space == pair.npos || pair.find(' ', space + 1) != pair.npos) {
        refuse(path, blank > 0 ? blank : reader.number(), "two symbols with a space between them",
               blank > 0 ? "" : pair);
      }
      const auto left = pair.substr(0, space), right = pair.substr(space + 1);
      const auto symbol = symbol_of(text(left, right));
      merges.push_back({symbol_of(left), symbol_of(right), symbol});
    }
    if (merges.empty()) throw FormatError(text(path, ": has no codes"));
    merges_ = std::move(merges);
    for (std::uint32_t rank = 0; rank < merges_.size(); ++rank) {
      ranks_.try_emplace(key(merges_[rank].left, merges_[rank].right), rank);
    }
  }

  //! From now on splits subwords again, by undoing merges, until all are in a vocabulary at least
  //! `minimum_count` times: a file of `subword-nmt get-vocab`, a subword and its count a line.
  //!
  //! **Errors.** ArgumentError for codes of version 0.1, for which subword-nmt's result has empty
  //! subwords, and if no subword is left.
  void keep_known(const std::string& vocabulary_path, index_t minimum_count = 0) {
    if (!end_joins_character_) {
      throw ArgumentError(text(path_, ": codes of version 0.1 cannot be used with a vocabulary"));
    }
    WordSet known;
    io::LineReader reader(vocabulary_path);
    for (std::string line; reader.next(line);) {
      const auto entry = trimmed(line);
      const auto space = entry.find(' ');
      index_t count = 0;
      const char* const end = entry.data() + entry.size();
      if (space != entry.npos) {
        const auto [stopped, error] = std::from_chars(entry.data() + space + 1, end, count);
        if (error == std::errc{} && stopped == end) {
          if (count >= minimum_count) known.emplace(entry.substr(0, space));
          continue;
        }
      }
      refuse(vocabulary_path, reader.number(), "a subword and its count", entry);
    }
    if (known.empty()) {
      throw ArgumentError(
          text(vocabulary_path, ": no subword is there at least ", minimum_count, " times"));
    }
    known_ = std::move(known);
    lengths_.resize(symbols_.size());
    for (const auto& [symbol, number] : symbols_) lengths_[number] = symbol.size();
    undone_.assign(symbols_.size(), no_merge);
    // Of several merges that make one symbol, subword-nmt undoes the one whose last line is first.
    std::unordered_set<std::uint64_t> seen;
    for (auto rank = static_cast<std::uint32_t>(merges_.size()); rank-- > 0;) {
      const Merge& merge = merges_[rank];
      if (seen.insert(key(merge.left, merge.right)).second) undone_[merge.symbol] = rank;
    }
    words_.clear();
  }

  //! A line with its words, which spaces part, cut into subwords: all but the last of a word end
  //! with "@@". Spaces at the line's ends stay, others become one.
  //!
  //! Bytes that are not UTF-8 are characters of their own.
  [[nodiscard]] std::string split(std::string_view line) {
    constexpr std::string_view at_ends = " \r\n";
    const auto begin = line.find_first_not_of(at_ends);
    if (begin == line.npos) return std::string(line);
    const auto end = line.find_last_not_of(at_ends) + 1;
    std::string out(line.substr(0, begin));
    for (auto at = begin; at < end;) {
      const auto stop = std::min(line.find(' ', at), end);
      if (stop > at) {
        if (at > begin) out += ' ';
        out += split_word(line.substr(at, stop - at));
      }
      at = stop + 1;
    }
    return out += line.substr(end);
  }

 private:
  using Symbol = std::uint32_t;
  static constexpr Symbol no_symbol = UINT32_MAX;  // of characters that no merge has
  static constexpr std::uint32_t no_merge = UINT32_MAX;
  static constexpr std::size_t none = SIZE_MAX;
  static constexpr std::string_view word_end = "</w>";
  static constexpr std::size_t most_words = 1'000'000;  // remembered, some 100 MB

  using WordSet = std::unordered_set<std::string, detail::WordHash, std::equal_to<>>;

  struct Merge {
    Symbol left, right, symbol;
  };

  //! A symbol of the word that is being split: the bytes from `begin` to `end`.
  struct Part {
    Symbol symbol;
    std::size_t begin, end;
    std::size_t previous, next;
  };

  static std::string_view trimmed(std::string_view line) {
    const auto begin = std::min(line.find_first_not_of(" \r"), line.size());
    return line.substr(begin, line.find_last_not_of(" \r") + 1 - begin);
  }

  [[noreturn]] static void refuse(const std::string& path, index_t line, std::string_view expected,
                                  std::string_view found) {
    const auto shown = found.empty()       ? "an empty line"
                       : found.size() > 60 ? text("a line of ", found.size(), " bytes")
                                           : io::detail::in_quotes(found);
    throw FormatError(text(path, ", line ", line, ": expected ", expected, ", found ", shown));
  }

  void read_version(std::string_view version) {
    if (version != "0.1" && version != "0.2") {
      throw FormatError(text(path_, ", line 1: codes of version ", io::detail::in_quotes(version),
                             "; 0.1 and 0.2 are known"));
    }
    end_joins_character_ = version == "0.2";
  }

  static std::uint64_t key(Symbol left, Symbol right) { return std::uint64_t{left} << 32 | right; }

  //! The number of a symbol, a new one if it has none.
  Symbol symbol_of(std::string_view symbol) {
    if (const auto found = symbols_.find(symbol); found != symbols_.end()) return found->second;
    if (symbols_.size() == no_symbol) throw DataError(text(path_, ": too many symbols"));
    return symbols_.emplace(symbol, static_cast<Symbol>(symbols_.size())).first->second;
  }

  [[nodiscard]] Symbol find_symbol(std::string_view symbol) const {
    const auto found = symbols_.find(symbol);
    return found == symbols_.end() ? no_symbol : found->second;
  }

  const std::string& split_word(std::string_view word) {
    if (const auto found = words_.find(word); found != words_.end()) return found->second;
    if (words_.size() == most_words) words_.clear();
    std::string subwords;
    const auto add = [&](std::string_view subword) {
      if (!subwords.empty()) subwords += "@@ ";
      subwords += subword;
    };
    if (word.size() == 1 || io::decode_utf8(word).bytes == std::ssize(word)) {
      add(word);
    } else {
      merge_characters(word);
      for (std::size_t at = 0; at != none; at = parts_[at].next) {
        const Part& part = parts_[at];
        if (part.begin < part.end) add_known(word, part.begin, part.end, part.symbol, add);
      }
    }
    return words_.emplace(word, std::move(subwords)).first->second;
  }

  //! Leaves in `parts_` the symbols of a word of two or more characters.
  void merge_characters(std::string_view word) {
    parts_.clear();
    const auto add = [&](Symbol symbol, std::size_t begin, std::size_t end) {
      parts_.push_back({symbol, begin, end, parts_.size() - 1, parts_.size() + 1});
    };
    std::size_t begin = 0;
    io::for_each_character(word, [&](char32_t, std::string_view character) {
      const auto end = begin + character.size();
      const bool ends_word = end_joins_character_ && end == word.size();
      add(ends_word ? find_symbol(text(character, word_end)) : find_symbol(character), begin, end);
      begin = end;
    });
    if (!end_joins_character_) add(find_symbol(word_end), word.size(), word.size());
    parts_.front().previous = parts_.back().next = none;

    for (std::size_t at = 0; at + 1 < parts_.size(); ++at) queue_pair(at);
    while (!queue_.empty()) {
      // All pairs of one merge, from left to right, before any that they make.
      const auto rank = queue_.top().first;
      places_.clear();
      for (; !queue_.empty() && queue_.top().first == rank; queue_.pop()) {
        places_.push_back(queue_.top().second);
      }
      for (const auto at : places_) merge_at(at, merges_[rank]);
    }
  }

  //! Queues the pair that begins at a part, if there is a merge for it.
  void queue_pair(std::size_t at) {
    const auto next = parts_[at].next;
    if (next == none) return;
    const auto found = ranks_.find(key(parts_[at].symbol, parts_[next].symbol));
    if (found != ranks_.end()) queue_.emplace(found->second, at);
  }

  //! Merges the pair that begins at a part, unless an earlier merge took a part of it.
  void merge_at(std::size_t at, const Merge& merge) {
    Part& part = parts_[at];
    if (part.symbol != merge.left || part.next == none) return;
    Part& other = parts_[part.next];
    if (other.symbol != merge.right) return;
    part.symbol = merge.symbol;
    part.end = other.end;
    part.next = other.next;
    other.symbol = no_symbol;
    if (part.next != none) parts_[part.next].previous = at;
    queue_pair(at);
    if (part.previous != none) queue_pair(part.previous);
  }

  //! Adds a subword, or those that it has to be split into; see `keep_known`.
  template <class Add>
  void add_known(std::string_view word, std::size_t begin, std::size_t end, Symbol symbol,
                 const Add& add) const {
    const auto subword = word.substr(begin, end - begin);
    const bool is_last = end == word.size();
    const auto rank = known_.empty() || symbol == no_symbol ? no_merge : undone_[symbol];
    const auto left_bytes = rank == no_merge ? subword.size() : lengths_[merges_[rank].left];
    if (left_bytes >= subword.size() ||
        known_.contains(is_last ? std::string(subword) : text(subword, "@@"))) {
      add(subword);
      return;
    }
    add_known(word, begin, begin + left_bytes, merges_[rank].left, add);
    add_known(word, begin + left_bytes, end, merges_[rank].right, add);
  }

  std::string path_;
  bool end_joins_character_ = false;  // version 0.2
  detail::WordMap<Symbol> symbols_;
  std::vector<Merge> merges_;                               // by rank
  std::unordered_map<std::uint64_t, std::uint32_t> ranks_;  // of pairs, the first where one repeats
  WordSet known_;                                           // empty: all are
  std::vector<std::uint32_t> undone_;                       // by symbol: the merge that makes it
  std::vector<std::size_t> lengths_;                        // by symbol: its bytes

  detail::WordMap<std::string> words_;  // that were split before

  // Of the word that is split; here to keep their memory.
  std::vector<Part> parts_;
  std::priority_queue<std::pair<std::uint32_t, std::size_t>,
                      std::vector<std::pair<std::uint32_t, std::size_t>>, std::greater<>>
      queue_;  // ranks of pairs and their places
  std::vector<std::size_t> places_;
};

}  // namespace weft::data
