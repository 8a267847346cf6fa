// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/number_words.hpp>

#include "../../message_of.hpp"

#include <weft/data/words.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace german_english_number_words_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::data::german_english;
using weft::testing::message_of;

namespace {

using Values = std::map<std::string_view, index_t>;

const Values german_values = {
    {"null", 0},      {"ein", 1},       {"eins", 1},      {"zwei", 2},      {"drei", 3},
    {"vier", 4},      {"fünf", 5},      {"sechs", 6},     {"sieben", 7},    {"acht", 8},
    {"neun", 9},      {"zehn", 10},     {"elf", 11},      {"zwölf", 12},    {"dreizehn", 13},
    {"vierzehn", 14}, {"fünfzehn", 15}, {"sechzehn", 16}, {"siebzehn", 17}, {"achtzehn", 18},
    {"neunzehn", 19}, {"zwanzig", 20},  {"dreißig", 30},  {"vierzig", 40},  {"fünfzig", 50},
    {"sechzig", 60},  {"siebzig", 70},  {"achtzig", 80},  {"neunzig", 90}};
const Values english_values = {
    {"zero", 0},     {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
    {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
    {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
    {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19},
    {"twenty", 20},  {"thirty", 30},  {"forty", 40},     {"fifty", 50},    {"sixty", 60},
    {"seventy", 70}, {"eighty", 80},  {"ninety", 90}};

//! The number that words say: small ones add up, hundred and thousand multiply what came before.
index_t value_of(std::string_view words, const Values& values, std::string_view hundred,
                 std::string_view thousand) {
  index_t thousands = 0;
  index_t below = 0;
  for (const auto word : split_words(words)) {
    if (word == "und" || word == "and") continue;
    if (word == hundred) {
      below *= 100;
    } else if (word == thousand) {
      thousands = 1000 * below;
      below = 0;
    } else {
      below += values.at(word);
    }
  }
  return thousands + below;
}

}  // namespace

TEST_CASE("German puts units before tens, and every part is a word of its own") {
  CHECK(german_number(0) == "null");
  CHECK(german_number(1) == "eins");
  CHECK(german_number(12) == "zwölf");
  CHECK(german_number(17) == "siebzehn");
  CHECK(german_number(20) == "zwanzig");
  CHECK(german_number(21) == "ein und zwanzig");
  CHECK(german_number(100) == "ein hundert");
  CHECK(german_number(101) == "ein hundert eins");
  CHECK(german_number(1000) == "ein tausend");
  CHECK(german_number(23'405) == "drei und zwanzig tausend vier hundert fünf");
  CHECK(german_number(101'001) == "ein hundert ein tausend eins");
  CHECK(german_number(999'999) ==
        "neun hundert neun und neunzig tausend neun hundert neun und neunzig");
}

TEST_CASE("a German one at the end agrees with what it counts, others do not") {
  CHECK(german_number(1, "einen") == "einen");
  CHECK(german_number(1, "ein") == "ein");
  CHECK(german_number(101, "ein") == "ein hundert ein");
  CHECK(german_number(21'031, "einen") == "ein und zwanzig tausend ein und dreißig");
}

TEST_CASE("English is British: and before what follows the hundreds") {
  CHECK(english_number(0) == "zero");
  CHECK(english_number(13) == "thirteen");
  CHECK(english_number(40) == "forty");
  CHECK(english_number(99) == "ninety nine");
  CHECK(english_number(100) == "one hundred");
  CHECK(english_number(101) == "one hundred and one");
  CHECK(english_number(1000) == "one thousand");
  CHECK(english_number(5020) == "five thousand and twenty");
  CHECK(english_number(23'405) == "twenty three thousand four hundred and five");
  CHECK(english_number(999'999) ==
        "nine hundred and ninety nine thousand nine hundred and ninety nine");
}

TEST_CASE("the words of a number say it, in both languages") {
  for (index_t number = 0; number < 1'000'000; number += number < 3000 ? 1 : 37) {
    const auto german = value_of(german_number(number), german_values, "hundert", "tausend");
    const auto english = value_of(english_number(number), english_values, "hundred", "thousand");
    if (german != number || english != number) {
      FAIL(number << ": " << german_number(number) << ", " << english_number(number));
    }
  }
}

TEST_CASE("numbers that have no words here are an error") {
  CHECK(message_of<ArgumentError>([] { return german_number(-1); }) ==
        "number words: -1 is not in 0 to 999999");
  CHECK(message_of<ArgumentError>([] { return english_number(1'000'000); }) ==
        "number words: 1000000 is not in 0 to 999999");
}

}  // namespace german_english_number_words_tests
