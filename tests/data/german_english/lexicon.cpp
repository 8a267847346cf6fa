// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/lexicon.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <set>
#include <string_view>

namespace german_english_lexicon_tests {

using namespace weft::data::german_english;

TEST_CASE("forms agree with who acts") {
  CHECK(sein(Person::first) == "bin");
  CHECK(sein(Person::third) == "ist");
  CHECK(sein(Person::plural) == "sind");
}

TEST_CASE("no German word of the lexicon has two translations, so that each sentence has one") {
  std::set<std::string_view> german;
  std::size_t words = 0;
  const auto add = [&](std::string_view word) {
    german.insert(word);
    ++words;
  };
  for (const auto& subject : subjects) add(subject.german);
  for (const auto& city : cities) add(city.german);
  for (const auto& noun : nouns) {
    add(noun.german);
    add(noun.german_plural);
  }
  const auto add_verbs = [&](const auto& verbs) {
    for (const auto& verb : verbs) {
      add(verb.german.first);
      add(verb.german.third);
      add(verb.german.plural);
    }
  };
  add_verbs(activities);
  add_verbs(dealings);
  CHECK(german.size() == words);
}

TEST_CASE("English nouns that begin with a vowel take an") {
  for (const auto& noun : nouns) {
    const bool vowel = std::string_view("aeiou").find(noun.english[0]) != std::string_view::npos;
    CHECK(noun.english_a == (vowel ? "an" : "a"));
  }
}

}  // namespace german_english_lexicon_tests
