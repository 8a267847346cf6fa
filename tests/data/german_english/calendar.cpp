// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/calendar.hpp>

#include "../../message_of.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

namespace german_english_calendar_tests {

using namespace weft;
using namespace weft::data::german_english;
using weft::testing::message_of;

TEST_CASE("dates are said with ordinals") {
  CHECK(date(1, 1) == Phrase{"ersten Januar", "the first of January"});
  CHECK(date(2, 2) == Phrase{"zweiten Februar", "the second of February"});
  CHECK(date(3, 5) == Phrase{"dritten Mai", "the third of May"});
  CHECK(date(7, 3) == Phrase{"siebten März", "the seventh of March"});
  CHECK(date(8, 6) == Phrase{"achten Juni", "the eighth of June"});
  CHECK(date(12, 7) == Phrase{"zwölften Juli", "the twelfth of July"});
  CHECK(date(19, 8) == Phrase{"neunzehnten August", "the nineteenth of August"});
  CHECK(date(20, 9) == Phrase{"zwanzigsten September", "the twentieth of September"});
  CHECK(date(21, 10) == Phrase{"ein und zwanzigsten Oktober", "the twenty first of October"});
  CHECK(date(30, 11) == Phrase{"dreißigsten November", "the thirtieth of November"});
  CHECK(date(31, 12) == Phrase{"ein und dreißigsten Dezember", "the thirty first of December"});
}

TEST_CASE("a leap year's days have 366 names in each language") {
  std::set<std::string> german;
  std::set<std::string> english;
  for (index_t month = 1; month <= 12; ++month) {
    for (index_t day = 1; day <= days_of(month); ++day) {
      german.insert(date(day, month).german);
      english.insert(date(day, month).english);
    }
  }
  CHECK(german.size() == 366);
  CHECK(english.size() == 366);
}

TEST_CASE("weeks begin on Monday") {
  CHECK(weekday(1) == Phrase{"Montag", "Monday"});
  CHECK(weekday(7) == Phrase{"Sonntag", "Sunday"});
}

TEST_CASE("years are said by the century, but for those just after 2000") {
  CHECK(year(1901) == Phrase{"neunzehn hundert eins", "nineteen oh one"});
  CHECK(year(1910) == Phrase{"neunzehn hundert zehn", "nineteen ten"});
  CHECK(year(1989) == Phrase{"neunzehn hundert neun und achtzig", "nineteen eighty nine"});
  CHECK(year(2000) == Phrase{"zwei tausend", "two thousand"});
  CHECK(year(2005) == Phrase{"zwei tausend fünf", "two thousand and five"});
  CHECK(year(2010) == Phrase{"zwei tausend zehn", "twenty ten"});
  CHECK(year(2023) == Phrase{"zwei tausend drei und zwanzig", "twenty twenty three"});
}

TEST_CASE("days that do not exist are an error") {
  CHECK(message_of<ArgumentError>([] { return date(30, 2); }) == "day: 30 is not in 1 to 29");
  CHECK(message_of<ArgumentError>([] { return date(0, 1); }) == "day: 0 is not in 1 to 31");
  CHECK(message_of<ArgumentError>([] { return date(1, 13); }) == "month: 13 is not in 1 to 12");
  CHECK(message_of<ArgumentError>([] { return weekday(0); }) == "weekday: 0 is not in 1 to 7");
  CHECK(message_of<ArgumentError>([] { return year(1900); }) ==
        "year: 1900 is not in 1901 to 2099");
}

}  // namespace german_english_calendar_tests
