// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Counts the words of a corpus.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/words.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::data {

namespace detail {

//! Lets a map of strings be searched for a part of a line without copying it.
struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const noexcept {
    return std::hash<std::string_view>{}(word);
  }
};

template <class Value>
using WordMap = std::unordered_map<std::string, Value, WordHash, std::equal_to<>>;

}  // namespace detail

//! How often each word was seen.
class WordCounts {
 public:
  //! Counts a word once more.
  void add(std::string_view word) {
    if (const auto found = counts_.find(word); found != counts_.end()) {
      ++found->second;
    } else {
      counts_.emplace(word, 1);
    }
    ++total_;
  }

  //! Adds each word of a line that white space cuts.
  void add_line(std::string_view line) {
    for_each_word(line, [this](std::string_view word) { add(word); });
  }

  //! All words with their counts, in no particular order.
  [[nodiscard]] const detail::WordMap<index_t>& counts() const noexcept { return counts_; }

  //! The number of words seen, repetitions included.
  [[nodiscard]] index_t total() const noexcept { return total_; }

 private:
  detail::WordMap<index_t> counts_;
  index_t total_ = 0;
};

}  // namespace weft::data
