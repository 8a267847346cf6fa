// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "texts.hpp"

#include <weft/data/basic_english.hpp>
#include <weft/data/word_counts.hpp>
#include <weft/io/lines.hpp>

namespace language_model {

namespace {

const std::vector<std::string> specials{"<unk>"};

}  // namespace

std::vector<std::string> read_words(const std::string& path) {
  std::vector<std::string> words;
  weft::io::LineReader lines(path);
  for (std::string line; lines.next(line);) {
    for (auto& word : weft::data::basic_english(line)) words.push_back(std::move(word));
  }
  return words;
}

weft::data::Vocabulary build_vocabulary(const std::vector<std::string>& words,
                                        weft::index_t minimum_count) {
  weft::data::WordCounts counts;
  for (const auto& word : words) counts.add(word);
  return weft::data::build_vocabulary(counts, {.minimum_count = minimum_count}, specials);
}

weft::data::Vocabulary load_vocabulary(const std::string& path) {
  return weft::data::Vocabulary::load(path, specials);
}

std::vector<weft::token_t> numbers_of(const weft::data::Vocabulary& vocabulary,
                                      const std::vector<std::string>& words) {
  std::vector<weft::token_t> numbers;
  numbers.reserve(words.size());
  for (const auto& word : words) numbers.push_back(vocabulary[word]);
  return numbers;
}

}  // namespace language_model
