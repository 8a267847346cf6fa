// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The numbers 0 to 999,999 in German and English words.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/german_english/phrase.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::data::german_english {

namespace detail {

inline constexpr std::array<std::string_view, 20> german_below_20 = {
    "null",     "eins",     "zwei",     "drei",     "vier",     "fünf",    "sechs",
    "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
    "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
inline constexpr std::array<std::string_view, 10> german_tens = {
    "", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
inline constexpr std::array<std::string_view, 20> english_below_20 = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
inline constexpr std::array<std::string_view, 10> english_tens = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};

inline void check_number(index_t number) {
  if (number < 0 || number > 999'999) {
    throw ArgumentError(text("number words: ", number, " is not in 0 to 999999"));
  }
}

}  // namespace detail

//! A German number, cut into the words of which it is made: 23405 is "drei und zwanzig tausend vier
//! hundert fünf", where German writes "dreiundzwanzigtausendvierhundertfünf".
//!
//! German compounds numbers without limit; in parts a word vocabulary has them all, and a model can
//! learn how they are put together. The units come before the tens. `one` is the word for a one at
//! the end: "eins" where the number stands alone, "ein" before what it counts.
//!
//! **Errors.** ArgumentError unless 0 <= number <= 999,999.
[[nodiscard]] inline std::string german_number(index_t number, std::string_view one = "eins") {
  detail::check_number(number);
  const auto rest_of = [&](index_t rest) {
    return rest == 0 ? std::string() : german_number(rest, one);
  };
  if (number == 1) return std::string(one);
  if (number < 20) return std::string(detail::german_below_20[static_cast<std::size_t>(number)]);
  if (number < 100) {
    const auto tens = detail::german_tens[static_cast<std::size_t>(number / 10)];
    if (number % 10 == 0) return std::string(tens);
    return join({german_number(number % 10, "ein"), "und", tens});
  }
  if (number < 1000) {
    return join({german_number(number / 100, "ein"), "hundert", rest_of(number % 100)});
  }
  return join({german_number(number / 1000, "ein"), "tausend", rest_of(number % 1000)});
}

//! A British number: 23405 is "twenty three thousand four hundred and five".
//!
//! **Errors.** ArgumentError unless 0 <= number <= 999,999.
[[nodiscard]] inline std::string english_number(index_t number) {
  detail::check_number(number);
  const auto rest_of = [](index_t rest) {
    if (rest == 0) return std::string();
    return join({rest < 100 ? "and" : "", english_number(rest)});
  };
  if (number < 20) return std::string(detail::english_below_20[static_cast<std::size_t>(number)]);
  if (number < 100) {
    const auto tens = detail::english_tens[static_cast<std::size_t>(number / 10)];
    return join({tens, number % 10 == 0 ? std::string() : english_number(number % 10)});
  }
  if (number < 1000) {
    return join({english_number(number / 100), "hundred", rest_of(number % 100)});
  }
  return join({english_number(number / 1000), "thousand", rest_of(number % 1000)});
}

}  // namespace weft::data::german_english
