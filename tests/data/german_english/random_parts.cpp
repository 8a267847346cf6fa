// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/random_parts.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <set>
#include <string>

namespace german_english_random_parts_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::data::german_english::detail;

TEST_CASE("random numbers have each length as often, and plural ones have plurals") {
  SplitMix64 random(5);
  int with_digits[4] = {};
  for (int draw = 0; draw < 40'000; ++draw) {
    const auto number = any_number(4, random);
    if (number < 0 || number >= 10'000) FAIL(number);
    ++with_digits[number < 10 ? 0 : number < 100 ? 1 : number < 1000 ? 2 : 3];
    const auto plural = plural_number(4, random);
    if (plural < 2 || plural % 100 == 1) FAIL(plural);
  }
  for (const int count : with_digits) CHECK(std::abs(count - 10'000) < 433);  // five deviations
}

TEST_CASE("the day comes before the time in German and after it in English") {
  SplitMix64 random(5);
  int both = 0;
  for (int draw = 0; draw < 1000; ++draw) {
    const auto [german, english] = any_moment(random);
    const auto german_day = german.find("am ");
    const auto german_time = german.find("um ");
    if (german_day == german.npos || german_time == german.npos) continue;
    ++both;
    if (german_day > german_time) FAIL(german);
    if (english.find("on ") < english.find("at ")) FAIL(english);
  }
  CHECK(both > 200);
}

TEST_CASE("every day of the year and every price up to ten euros is drawn") {
  SplitMix64 random(5);
  std::set<std::string> dates;
  std::set<std::string> prices;
  for (int draw = 0; draw < 20'000; ++draw) {
    const auto day = any_day(random).german;
    if (day.find(" , ") == day.npos) dates.insert(day);
    prices.insert(any_price(random).german);
  }
  CHECK(dates.size() == 366 + 7);  // and the weekdays
  CHECK(prices.contains("einen Euro"));
  CHECK(prices.contains("neun Euro fünf und neunzig"));
  CHECK(prices.contains("fünf Cent"));
}

}  // namespace german_english_random_parts_tests
