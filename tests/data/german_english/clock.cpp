// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/clock.hpp>

#include "../../message_of.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace german_english_clock_tests {

using namespace weft;
using namespace weft::data::german_english;
using weft::testing::message_of;

TEST_CASE("an hour as people tell it, five minutes at a time") {
  CHECK(spoken_time(3, 0) == Phrase{"drei Uhr", "three o'clock"});
  CHECK(spoken_time(3, 5) == Phrase{"fünf nach drei", "five past three"});
  CHECK(spoken_time(3, 10) == Phrase{"zehn nach drei", "ten past three"});
  CHECK(spoken_time(3, 15) == Phrase{"Viertel nach drei", "a quarter past three"});
  CHECK(spoken_time(3, 20) == Phrase{"zwanzig nach drei", "twenty past three"});
  CHECK(spoken_time(3, 25) == Phrase{"fünf vor halb vier", "twenty five past three"});
  CHECK(spoken_time(3, 30) == Phrase{"halb vier", "half past three"});
  CHECK(spoken_time(3, 35) == Phrase{"fünf nach halb vier", "twenty five to four"});
  CHECK(spoken_time(3, 40) == Phrase{"zwanzig vor vier", "twenty to four"});
  CHECK(spoken_time(3, 45) == Phrase{"Viertel vor vier", "a quarter to four"});
  CHECK(spoken_time(3, 50) == Phrase{"zehn vor vier", "ten to four"});
  CHECK(spoken_time(3, 55) == Phrase{"fünf vor vier", "five to four"});
}

TEST_CASE("after twelve comes one, which is ein before Uhr and eins elsewhere") {
  CHECK(spoken_time(12, 30) == Phrase{"halb eins", "half past twelve"});
  CHECK(spoken_time(12, 45) == Phrase{"Viertel vor eins", "a quarter to one"});
  CHECK(spoken_time(1, 0) == Phrase{"ein Uhr", "one o'clock"});
  CHECK(spoken_time(1, 15) == Phrase{"Viertel nach eins", "a quarter past one"});
}

TEST_CASE("a time as timetables tell it, in 24 hours or with p.m.") {
  CHECK(official_time(1, 1) == Phrase{"ein Uhr eins", "one oh one"});
  CHECK(official_time(3, 5) == Phrase{"drei Uhr fünf", "three oh five"});
  CHECK(official_time(12, 0) == Phrase{"zwölf Uhr", "twelve o'clock"});
  CHECK(official_time(12, 59) == Phrase{"zwölf Uhr neun und fünfzig", "twelve fifty nine"});
  CHECK(official_time(13, 0) == Phrase{"dreizehn Uhr", "one p.m."});
  CHECK(official_time(15, 20) == Phrase{"fünfzehn Uhr zwanzig", "three twenty p.m."});
  CHECK(official_time(21, 10) == Phrase{"ein und zwanzig Uhr zehn", "nine ten p.m."});
}

TEST_CASE("different times have different names in both languages") {
  std::set<std::string> german;
  std::set<std::string> english;
  const auto add = [&](const Phrase& time) {
    german.insert(time.german);
    english.insert(time.english);
  };
  for (index_t hour = 1; hour <= 12; ++hour) {
    for (index_t minute = 5; minute < 60; minute += 5) add(spoken_time(hour, minute));
  }
  for (index_t hour = 1; hour <= 23; ++hour) {
    for (index_t minute = 0; minute < 60; ++minute) add(official_time(hour, minute));
  }
  CHECK(german.size() == 12 * 11 + 23 * 60);
  CHECK(english.size() == 12 * 11 + 23 * 60);
}

TEST_CASE("times that nobody says are an error") {
  CHECK(message_of<ArgumentError>([] { return spoken_time(3, 7); }) ==
        "spoken_time: nobody says 3:7 like that");
  CHECK(message_of<ArgumentError>([] { return spoken_time(13, 0); }) ==
        "spoken_time: nobody says 13:0 like that");
  CHECK(message_of<ArgumentError>([] { return official_time(24, 0); }) ==
        "official_time: 24:0 is not in 1:00 to 23:59");
  CHECK(message_of<ArgumentError>([] { return official_time(3, 60); }) ==
        "official_time: 3:60 is not in 1:00 to 23:59");
}

}  // namespace german_english_clock_tests
