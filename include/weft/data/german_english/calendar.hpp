// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Weekdays, dates and years in German and English words.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/german_english/number_words.hpp>
#include <weft/data/german_english/phrase.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::data::german_english {

namespace detail {

struct Month {
  std::string_view german;
  std::string_view english;
  index_t days;
};

inline constexpr std::array<Month, 12> months = {{{"Januar", "January", 31},
                                                  {"Februar", "February", 29},
                                                  {"März", "March", 31},
                                                  {"April", "April", 30},
                                                  {"Mai", "May", 31},
                                                  {"Juni", "June", 30},
                                                  {"Juli", "July", 31},
                                                  {"August", "August", 31},
                                                  {"September", "September", 30},
                                                  {"Oktober", "October", 31},
                                                  {"November", "November", 30},
                                                  {"Dezember", "December", 31}}};

inline constexpr std::array<std::string_view, 7> german_weekdays = {
    "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"};
inline constexpr std::array<std::string_view, 7> english_weekdays = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

inline constexpr std::array<std::string_view, 20> english_ordinals = {
    "",           "first",     "second",    "third",       "fourth",     "fifth",     "sixth",
    "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",   "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"};

//! The weak form, as after "am" and "dem": "dritten", "ein und zwanzigsten".
inline std::string german_ordinal(index_t day) {
  switch (day) {
    case 1:
      return "ersten";
    case 3:
      return "dritten";
    case 7:
      return "siebten";
    case 8:
      return "achten";
    default:
      return german_number(day) + (day < 20 ? "ten" : "sten");
  }
}

inline std::string english_ordinal(index_t day) {
  if (day < 20) return std::string(english_ordinals[static_cast<std::size_t>(day)]);
  if (day == 20) return "twentieth";
  if (day == 30) return "thirtieth";
  return join(
      {day < 30 ? "twenty" : "thirty", english_ordinals[static_cast<std::size_t>(day % 10)]});
}

inline void check_calendar(std::string_view name, index_t value, index_t first, index_t last) {
  if (value < first || value > last) {
    throw ArgumentError(text(name, ": ", value, " is not in ", first, " to ", last));
  }
}

}  // namespace detail

//! The days of a month, 1 to 12; February has 29.
[[nodiscard]] inline index_t days_of(index_t month) {
  detail::check_calendar("month", month, 1, 12);
  return detail::months[static_cast<std::size_t>(month - 1)].days;
}

//! "Montag", "Monday": 1 to 7, as ISO 8601 counts.
[[nodiscard]] inline Phrase weekday(index_t number) {
  detail::check_calendar("weekday", number, 1, 7);
  const auto at = static_cast<std::size_t>(number - 1);
  return {std::string(detail::german_weekdays[at]), std::string(detail::english_weekdays[at])};
}

//! "dritten Mai", "the third of May": a date as it stands after "am" and "on".
[[nodiscard]] inline Phrase date(index_t day, index_t month) {
  detail::check_calendar("day", day, 1, days_of(month));
  const auto& name = detail::months[static_cast<std::size_t>(month - 1)];
  return {join({detail::german_ordinal(day), name.german}),
          join({"the", detail::english_ordinal(day), "of", name.english})};
}

//! "neunzehn hundert fünf", "nineteen oh five"; "zwei tausend fünf", "two thousand and five";
//! "zwei tausend zwölf", "twenty twelve": 1901 to 2099.
[[nodiscard]] inline Phrase year(index_t number) {
  detail::check_calendar("year", number, 1901, 2099);
  const index_t rest = number % 100;
  if (number >= 2000 && number < 2010) return {german_number(number), english_number(number)};
  const std::string english =
      join({english_number(number / 100), rest < 10 ? "oh" : "", english_number(rest)});
  if (number >= 2010) return {german_number(number), english};
  return {join({"neunzehn hundert", german_number(rest)}), english};
}

}  // namespace weft::data::german_english
