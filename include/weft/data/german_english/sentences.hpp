// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Makes short German sentences of numbers, dates, times and prices, and their translations.
#pragma once

#include <weft/core/index.hpp>
#include <weft/data/german_english/calendar.hpp>
#include <weft/data/german_english/clause.hpp>
#include <weft/data/german_english/lexicon.hpp>
#include <weft/data/german_english/number_words.hpp>
#include <weft/data/german_english/phrase.hpp>
#include <weft/data/german_english/random_parts.hpp>
#include <weft/data/shuffle.hpp>
#include <weft/data/words.hpp>

#include <algorithm>

namespace weft::data::german_english {

//! The most words of a generated sentence, punctuation included.
inline constexpr index_t longest_sentence = 16;

namespace detail {

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

inline Phrase in_city(const City& city) {
  return {join({"in", city.german}), join({"in", city.english})};
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
