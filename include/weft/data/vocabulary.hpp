// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers the words of a language.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/word_counts.hpp>
#include <weft/data/words.hpp>
#include <weft/io/detail/messages.hpp>
#include <weft/io/lines.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::data {

//! The special words of translation, in the order of their ids: `<pad>` 0, `<unk>` 1, `<bos>` 2,
//! `<eos>` 3.
[[nodiscard]] inline const std::vector<std::string>& translation_specials() {
  static const std::vector<std::string> words = {"<pad>", "<unk>", "<bos>", "<eos>"};
  return words;
}

//! Words and their ids, 0, 1, 2, ...; the special words come first.
//!
//! Special words are known by their names: `<unk>` stands for every word that has no id and must be
//! there; `<pad>`, `<bos>` and `<eos>` may be. No text can spell a special word: where a line says
//! `<eos>`, it is encoded as the unknown word, so that a corpus cannot forge the end of a sentence.
class Vocabulary {
 public:
  //! **Errors.** DataError for a word that is empty, holds white space or comes twice, and unless
  //! `<unk>` is one of the specials.
  Vocabulary(std::vector<std::string> specials, std::span<const std::string> words)
      : specials_(static_cast<token_t>(specials.size())) {
    constexpr std::string_view name = "vocabulary";
    for (auto& word : specials) add(std::move(word), name);
    for (const auto& word : words) add(word, name);
    unk_ = special("<unk>");
  }

  //! How many words have ids, special words included.
  [[nodiscard]] index_t size() const noexcept { return std::ssize(words_); }

  //! The id of a word of a text; that of `<unk>` if it has none or is a special word.
  [[nodiscard]] token_t operator[](std::string_view word) const {
    const auto found = ids_.find(word);
    return found == ids_.end() || found->second < specials_ ? unk_ : found->second;
  }

  //! **Errors.** DataError unless 0 <= id < size().
  [[nodiscard]] const std::string& word(token_t id) const {
    if (id < 0 || id >= size()) {
      throw DataError(text("vocabulary: no word has the id ", id, "; there are ", size()));
    }
    return words_[static_cast<std::size_t>(id)];
  }

  //! The id of `<unk>`, which is always there.
  [[nodiscard]] token_t unk() const noexcept { return unk_; }
  //! The id of `<pad>`. **Errors.** DataError without it.
  [[nodiscard]] token_t pad() const { return special("<pad>"); }
  //! The id of `<bos>`. **Errors.** DataError without it.
  [[nodiscard]] token_t bos() const { return special("<bos>"); }
  //! The id of `<eos>`. **Errors.** DataError without it.
  [[nodiscard]] token_t eos() const { return special("<eos>"); }

  //! Appends the ids of a line's words, cut at white space, to `ids`; returns how many are unknown.
  index_t encode(std::string_view line, std::vector<token_t>& ids) const {
    index_t unknown = 0;
    for_each_word(line, [&](std::string_view word) {
      ids.push_back((*this)[word]);
      unknown += ids.back() == unk_ ? 1 : 0;
    });
    return unknown;
  }

  //! The ids of a line's words, cut at white space.
  [[nodiscard]] std::vector<token_t> encode(std::string_view line) const {
    std::vector<token_t> ids;
    encode(line, ids);
    return ids;
  }

  //! The words of `ids`, parted by spaces: up to the first `<eos>`, and without `<bos>` and
  //! `<pad>`.
  //!
  //! **Errors.** DataError for an id that is not of this vocabulary.
  [[nodiscard]] std::string decode(std::span<const token_t> ids) const {
    std::string line;
    for (const token_t id : ids) {
      const std::string& next = word(id);
      if (id < specials_ && next == "<eos>") break;
      if (id < specials_ && (next == "<bos>" || next == "<pad>")) continue;
      if (!line.empty()) line += ' ';
      line += next;
    }
    return line;
  }

  //! A number that differs, but for one chance in 2^64, where any word or its id does.
  //!
  //! It is the FNV-1a hash of the file that `save` writes: of each word and a line feed.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept {
    Fingerprint fingerprint;
    for (const auto& word : words_) fingerprint.add(word).add("\n");
    return fingerprint.value();
  }

  //! Writes one word a line, the special words too. **Errors.** SystemError.
  void save(const std::string& path) const { io::write_lines(path, words_); }

  //! Reads what `save` wrote, no further than the first line that is wrong.
  //!
  //! **Errors.** Those of io::LineReader; DataError, naming the line, unless the file begins with
  //! `specials` and every line is one word of its own.
  [[nodiscard]] static Vocabulary load(const std::string& path,
                                       std::vector<std::string> specials = translation_specials()) {
    io::LineReader reader(path);
    std::string line;
    for (std::size_t at = 0; at < specials.size(); ++at) {
      const bool is_there = reader.next(line);
      if (is_there && line == specials[at]) continue;
      throw DataError(text(path, ", line ", at + 1, ": expected the special word ", specials[at],
                           ", found ",
                           is_there ? io::detail::in_quotes(line) : "the end of the file"));
    }
    Vocabulary vocabulary(std::move(specials), {});
    while (reader.next(line)) vocabulary.add(line, path);
    return vocabulary;
  }

 private:
  //! Gives a word the next id. The word of id n stands in line n + 1 of the file `name`, or of the
  //! one it would be saved to.
  void add(std::string word, std::string_view name) {
    const auto refuse = [&](const auto&... why) {
      throw DataError(text(name, ", line ", size() + 1, ": ", why...));
    };
    if (size() == std::numeric_limits<token_t>::max()) refuse("more words than there are ids");
    if (word.empty()) refuse("empty");
    if (split_words(word) != std::vector<std::string_view>{word}) {
      refuse(io::detail::in_quotes(word), " holds white space");
    }
    if (const auto [first, is_new] = ids_.emplace(word, static_cast<token_t>(size())); !is_new) {
      refuse(io::detail::in_quotes(word), " stands in line ", first->second + 1, " already");
    }
    words_.push_back(std::move(word));
  }

  [[nodiscard]] token_t special(std::string_view name) const {
    const auto found = ids_.find(name);
    if (found != ids_.end() && found->second < specials_) return found->second;
    throw DataError(text("vocabulary: ", name, " is not one of its special words"));
  }

  std::vector<std::string> words_;
  detail::WordMap<token_t> ids_;
  token_t specials_;  // ids below are special words
  token_t unk_ = 0;
};

//! Which words are worth an id.
struct VocabularyLimits {
  index_t minimum_count = 1;                                   //!< Rarer words get none.
  index_t maximum_size = std::numeric_limits<token_t>::max();  //!< Special words included.
};

//! The words of `counts` in descending order of their counts, words of one count in the order of
//! their code points, after the special words.
//!
//! **Errors.** ArgumentError unless the special words and one more fit into the maximum size.
//! **Source.** torchtext's build_vocab_from_iterator. Where a special word is in the text itself
//! (`<unk>` in WikiText-2) and the maximum size cuts, torchtext gives one word less.
[[nodiscard]] inline Vocabulary build_vocabulary(
    const WordCounts& counts, VocabularyLimits limits = {},
    std::vector<std::string> specials = translation_specials()) {
  const index_t room = limits.maximum_size - std::ssize(specials);
  if (room < 1) {
    throw ArgumentError(text("build_vocabulary: ", specials.size(),
                             " special words leave no room in at most ", limits.maximum_size));
  }
  std::vector<std::pair<std::string, index_t>> ranked;
  for (const auto& [word, count] : counts.counts()) {
    const bool is_special = std::ranges::find(specials, word) != specials.end();
    if (!is_special && count >= limits.minimum_count) ranked.emplace_back(word, count);
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& left, const auto& right) {
    if (left.second != right.second) return left.second > right.second;
    return left.first < right.first;  // the order of UTF-8 bytes is that of code points
  });
  if (std::ssize(ranked) > room) ranked.resize(static_cast<std::size_t>(room));
  std::vector<std::string> words;
  for (auto& [word, count] : ranked) words.push_back(std::move(word));
  return Vocabulary(std::move(specials), words);
}

}  // namespace weft::data
