// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Times of day in German and English words.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/german_english/number_words.hpp>
#include <weft/data/german_english/phrase.hpp>

#include <string>

namespace weft::data::german_english {

//! A time as people say it: hour 1 to 12, minute a multiple of 5.
//!
//! German names the half hours after the hour that follows, and tells the ten minutes around a half
//! hour from there: 3:30 is "halb vier", "half past three"; 3:25 "fünf vor halb vier", "twenty five
//! past three"; 3:35 "fünf nach halb vier", "twenty five to four".
//!
//! **Errors.** ArgumentError for another hour or minute.
[[nodiscard]] inline Phrase spoken_time(index_t hour, index_t minute) {
  if (hour < 1 || hour > 12 || minute < 0 || minute > 55 || minute % 5 != 0) {
    throw ArgumentError(text("spoken_time: nobody says ", hour, ":", minute, " like that"));
  }
  const index_t next_hour = hour % 12 + 1;
  if (minute == 0) {
    return {join({german_number(hour, "ein"), "Uhr"}), join({english_number(hour), "o'clock"})};
  }

  const bool second_half = minute > 30;
  const index_t english_minutes = second_half ? 60 - minute : minute;
  const std::string english =
      join({english_minutes == 15   ? "a quarter"
            : english_minutes == 30 ? "half"
                                    : english_number(english_minutes),
            second_half ? "to" : "past", english_number(second_half ? next_hour : hour)});

  const auto german = [&](index_t minutes, bool before, const std::string& from) {
    return join(
        {minutes == 15 ? "Viertel" : german_number(minutes), before ? "vor" : "nach", from});
  };
  const std::string half = "halb " + german_number(next_hour);
  if (minute == 30) return {half, english};
  if (minute == 25 || minute == 35) return {german(5, minute < 30, half), english};
  return {german(english_minutes, second_half, german_number(second_half ? next_hour : hour)),
          english};
}

//! A time as timetables tell it: hour 1 to 23, minute 0 to 59.
//!
//! German counts 24 hours, English says "p.m." after noon: 15:20 is "fünfzehn Uhr zwanzig", "three
//! twenty p.m."; 3:05 is "drei Uhr fünf", "three oh five".
//!
//! **Errors.** ArgumentError for another hour or minute.
[[nodiscard]] inline Phrase official_time(index_t hour, index_t minute) {
  if (hour < 1 || hour > 23 || minute < 0 || minute > 59) {
    throw ArgumentError(text("official_time: ", hour, ":", minute, " is not in 1:00 to 23:59"));
  }
  const bool afternoon = hour > 12;
  std::string english = english_number(afternoon ? hour - 12 : hour);
  if (minute > 0) {
    english = join({english, minute < 10 ? "oh" : "", english_number(minute)});
  } else if (!afternoon) {
    english += " o'clock";
  }
  return {join({german_number(hour, "ein"), "Uhr", minute > 0 ? german_number(minute) : ""}),
          join({english, afternoon ? "p.m." : ""})};
}

}  // namespace weft::data::german_english
