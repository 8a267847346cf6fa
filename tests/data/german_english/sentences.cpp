// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/sentences.hpp>

#include <weft/data/word_counts.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>
#include <unordered_map>

namespace german_english_sentences_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::data::german_english;

TEST_CASE("each of 100,000 random German sentences has one translation, and both are short") {
  SplitMix64 random(11);
  std::unordered_map<std::string, std::string> translations;
  WordCounts german_words;
  WordCounts english_words;
  for (int draw = 0; draw < 100'000; ++draw) {
    const auto [german, english] = sentence(random);
    const auto [known, is_new] = translations.emplace(german, english);
    if (known->second != english) FAIL(german << ": " << english << "; " << known->second);
    for (const auto& line : {german, english}) {
      const auto words = split_words(line).size();
      if (words < 3 || words > 16 || line.find("  ") != line.npos || line.front() == ' ') {
        FAIL("\"" << line << "\"");
      }
      if (line.back() != '.' && line.back() != '?') FAIL(line);
    }
    german_words.add_line(german);
    english_words.add_line(english);
  }
  CHECK(translations.size() > 80'000);
  // Few enough words for a small model, and each often enough to be learned.
  for (const auto* words : {&german_words, &english_words}) {
    CHECK(words->counts().size() >= 150);
    CHECK(words->counts().size() <= 250);
    for (const auto& [word, count] : words->counts()) {
      if (count < 50) FAIL(word << " came " << count << " times");
    }
  }
}

TEST_CASE("sentences are a function of the random key alone, on every platform") {
  SplitMix64 random(1);
  CHECK(sentence(random) == Phrase{"der Zug aus Braunschweig kommt um zehn Uhr an .",
                                   "the train from Brunswick arrives at ten o'clock ."});
  CHECK(sentence(random) == Phrase{"am Sonntag , dem zwölften Mai kommen wir nach Berlin .",
                                   "on Sunday the twelfth of May , we come to Berlin ."});
  CHECK(sentence(random) == Phrase{"ich weiß , dass er am Sonntag in Genf ein Haus findet .",
                                   "I know that he finds a house in Geneva on Sunday ."});
  CHECK(sentence(random) == Phrase{"in Wien wohnen sechs hundert neun und siebzig Menschen .",
                                   "six hundred and seventy nine people live in Vienna ."});
}

}  // namespace german_english_sentences_tests
