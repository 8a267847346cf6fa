// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Makes short German sentences of numbers, dates, times and prices, and their translations.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/german_english/calendar.hpp>
#include <weft/data/german_english/clause.hpp>
#include <weft/data/german_english/clock.hpp>
#include <weft/data/german_english/lexicon.hpp>
#include <weft/data/german_english/number_words.hpp>
#include <weft/data/german_english/phrase.hpp>
#include <weft/data/german_english/prices.hpp>
#include <weft/data/shuffle.hpp>
#include <weft/data/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

namespace weft::data::german_english {

//! The most words of a generated sentence, punctuation included.
inline constexpr index_t longest_sentence = 16;

namespace detail {

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

inline Phrase in_city(const City& city) {
  return {join({"in", city.german}), join({"in", city.english})};
}

inline Phrase any_price(SplitMix64& random) {
  const index_t cents = random.below(2) == 0 ? 0 : 5 * (1 + random.below(19));
  if (cents > 0 && random.below(4) == 0) return price(0, cents);
  if (random.below(8) == 0) return price(1, cents);
  return price(plural_number(3, random), cents);
}

inline Phrase order(const Clause& clause, SplitMix64& random) {
  switch (random.below(7)) {
    case 0:
      return time_first(clause);
    case 1:
      return question(clause);
    case 2:
      return perfect(clause);
    case 3:
      return wish(clause);
    case 4:
      return knowledge(clause);
    case 5:
      return clause.what == Phrase{} ? negation(clause) : statement(clause);
    default:
      return statement(clause);
  }
}

//! "Anna arbeitet am dritten Mai in Köln .": what somebody does, or that somebody comes.
inline Phrase activity(SplitMix64& random) {
  const City& city = pick(cities, random);
  Clause clause{pick(subjects, random), kommen, {}, {}, any_moment(random)};
  if (random.below(3) == 0) {
    clause.where = {join({"nach", city.german}), join({"to", city.english})};
  } else {
    clause.verb = pick(activities, random);
    if (random.below(2) == 0) clause.where = in_city(city);
  }
  return order(clause, random);
}

//! "Anna kauft am dritten Mai drei Bücher .": how many things somebody buys, sees, ...
inline Phrase dealing(SplitMix64& random) {
  const Noun& noun = pick(nouns, random);
  const auto count = plural_number(4, random);
  Clause clause{pick(subjects, random),
                pick(dealings, random),
                {join({german_number(count), noun.german_plural}),
                 join({english_number(count), noun.english_plural})},
                {},
                any_day(random)};
  if (random.below(5) == 0) {
    clause.what = {join({noun.german_a_object, noun.german}), join({noun.english_a, noun.english})};
  }
  if (random.below(4) == 0) clause.where = in_city(pick(cities, random));
  return order(clause, random);
}

//! "der Zug nach Köln fährt um halb vier ab .": verbs that German splits.
inline Phrase train(SplitMix64& random) {
  const City& city = pick(cities, random);
  const auto moment = any_moment(random);
  if (random.below(2) == 0) {
    return {join({"der Zug nach", city.german, "fährt", moment.german, "ab ."}),
            join({"the train to", city.english, "leaves", moment.english, "."})};
  }
  return {join({"der Zug aus", city.german, "kommt", moment.german, "an ."}),
          join({"the train from", city.english, "arrives", moment.english, "."})};
}

//! "Anna hat am dritten Mai Geburtstag .", "Anna ist im Jahr zwei tausend fünf geboren ."
inline Phrase birthday(SplitMix64& random) {
  const Subject& subject = pick(subjects, random);
  const auto month = 1 + random.below(12);
  const auto day = date(1 + random.below(days_of(month)), month);
  const auto born = year(1930 + random.below(90));
  switch (random.below(3)) {
    case 0:
      return {join({subject.german, haben(subject.person), "am", day.german, "Geburtstag ."}),
              join({subject.english_possessive, "birthday is on", day.english, "."})};
    case 1:
      return {join({subject.german, sein(subject.person), "im Jahr", born.german, "geboren ."}),
              join({subject.english, was(subject.person), "born in", born.english, "."})};
    default:
      return {
          join({subject.german, sein(subject.person), "am", day.german, born.german, "geboren ."}),
          join({subject.english, was(subject.person), "born on", day.english, born.english, "."})};
  }
}

//! "das Buch kostet drei Euro fünfzig .", "Anna zahlt einen Euro für das Buch ."
inline Phrase cost(SplitMix64& random) {
  const Noun& noun = pick(nouns, random);
  const Subject& subject = pick(subjects, random);
  const auto amount = any_price(random);
  const auto the_noun = join({noun.german_the, noun.german});
  switch (random.below(4)) {
    case 0:
      return {join({the_noun, "kostet", amount.german, "."}),
              join({"the", noun.english, "costs", amount.english, "."})};
    case 1:
      return {join({"kostet", the_noun, amount.german, "?"}),
              join({"does the", noun.english, "cost", amount.english, "?"})};
    case 2:
      return {join({"die", noun.german_plural, "kosten", amount.german, "."}),
              join({"the", noun.english_plural, "cost", amount.english, "."})};
    default:
      return {join({subject.german, zahlen(subject.person), amount.german, "für",
                    noun.german_the_object, noun.german, "."}),
              join({subject.english, pay(subject.person), amount.english, "for the", noun.english,
                    "."})};
  }
}

//! "in Köln wohnen drei tausend Menschen .", "three thousand people live in Cologne ."
inline Phrase population(SplitMix64& random) {
  const City& city = pick(cities, random);
  const auto count = plural_number(6, random);
  return {join({"in", city.german, "wohnen", german_number(count), "Menschen ."}),
          join({english_number(count), "people live in", city.english, "."})};
}

//! "die Zahl ist drei .", "es ist halb vier ."
inline Phrase fact(SplitMix64& random) {
  if (random.below(2) == 0) {
    const auto time = any_time(random);
    return {join({"es ist", time.german, "."}), join({"it is", time.english, "."})};
  }
  const auto number = any_number(6, random);
  return {join({"die Zahl ist", german_number(number), "."}),
          join({"the number is", english_number(number), "."})};
}

inline Phrase any_sentence(SplitMix64& random) {
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return activity(random);
    case 3:
    case 4:
      return dealing(random);
    case 5:
      return train(random);
    case 6:
      return birthday(random);
    case 7:
      return cost(random);
    case 8:
      return population(random);
    default:
      return fact(random);
  }
}

}  // namespace detail

//! A German sentence of 3 to 16 words and its one translation, chosen by `random`.
[[nodiscard]] inline Phrase sentence(SplitMix64& random) {
  for (;;) {
    auto pair = detail::any_sentence(random);
    const auto words = std::max(split_words(pair.german).size(), split_words(pair.english).size());
    if (static_cast<index_t>(words) <= longest_sentence) return pair;
  }
}

}  // namespace weft::data::german_english
