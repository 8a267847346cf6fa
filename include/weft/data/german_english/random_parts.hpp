// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Draws the numbers, days, times and prices of which sentences are made.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/german_english/calendar.hpp>
#include <weft/data/german_english/clock.hpp>
#include <weft/data/german_english/phrase.hpp>
#include <weft/data/german_english/prices.hpp>
#include <weft/data/shuffle.hpp>

#include <array>
#include <cstddef>
#include <iterator>

namespace weft::data::german_english::detail {

template <class Thing, std::size_t count>
const Thing& pick(const std::array<Thing, count>& things, SplitMix64& random) {
  return things[static_cast<std::size_t>(random.below(std::ssize(things)))];
}

//! A number with 1 to `digits` digits, each length as often: long ones would drown the short ones.
inline index_t any_number(index_t digits, SplitMix64& random) {
  index_t bound = 10;
  for (index_t more = random.below(digits); more > 0; --more) bound *= 10;
  const index_t first = bound == 10 ? 0 : bound / 10;
  return first + random.below(bound - first);
}

//! A number from 2 on that does not end in 01, of which German makes no plural.
inline index_t plural_number(index_t digits, SplitMix64& random) {
  index_t number = any_number(digits, random);
  while (number < 2 || number % 100 == 1) number = any_number(digits, random);
  return number;
}

inline Phrase any_day(SplitMix64& random) {
  const auto month = 1 + random.below(12);
  const auto date_words = date(1 + random.below(days_of(month)), month);
  const auto weekday_words = weekday(1 + random.below(7));
  switch (random.below(4)) {
    case 0:
      return {"am " + weekday_words.german, "on " + weekday_words.english};
    case 1:
      return {join({"am", weekday_words.german, ", dem", date_words.german}),
              join({"on", weekday_words.english, date_words.english})};
    default:
      return {"am " + date_words.german, "on " + date_words.english};
  }
}

inline Phrase any_time(SplitMix64& random) {
  // Drawn one by one: compilers evaluate arguments in different orders.
  if (random.below(2) == 0) {
    const auto hour = 1 + random.below(23);
    return official_time(hour, random.below(60));
  }
  const auto hour = 1 + random.below(12);
  return spoken_time(hour, 5 * random.below(12));
}

//! A day, a time, or both: German says the day first, English the time.
inline Phrase any_moment(SplitMix64& random) {
  const auto day = any_day(random);
  const auto time = any_time(random);
  const Phrase at_time = {"um " + time.german, "at " + time.english};
  switch (random.below(3)) {
    case 0:
      return day;
    case 1:
      return at_time;
    default:
      return {join({day.german, at_time.german}), join({at_time.english, day.english})};
  }
}

inline Phrase any_price(SplitMix64& random) {
  const index_t cents = random.below(2) == 0 ? 0 : 5 * (1 + random.below(19));
  if (cents > 0 && random.below(4) == 0) return price(0, cents);
  if (random.below(8) == 0) return price(1, cents);
  return price(plural_number(3, random), cents);
}

}  // namespace weft::data::german_english::detail
