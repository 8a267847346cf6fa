// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "number_checks.hpp"

#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <system_error>

namespace examples {

namespace {

//! `wanted` is what `fits` takes, in words; `type` what `--help` calls it.
template <class Number, class Fits>
CLI::Validator check(const std::string& wanted, const std::string& type, const Fits& fits) {
  const auto refusal = [wanted, fits](const std::string& word) -> std::string {
    if (std::integral<Number> && word.size() > 1 && word.front() == '0') {
      // CLI11 would read 0100 as 64.
      return "needs " + wanted + " that does not begin with a 0, not " + word;
    }
    Number number{};
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, number);
    if (error == std::errc::result_out_of_range) return "cannot hold a number like " + word;
    if (error == std::errc{} && stopped == end && fits(number)) return "";
    return "needs " + wanted + ", not " + word;
  };
  return {refusal, type};
}

}  // namespace

CLI::Validator positive_whole_number() {
  return check<weft::index_t>("a positive whole number", "POSITIVE",
                              [](weft::index_t number) { return number > 0; });
}

CLI::Validator whole_number_from_0() {
  return check<weft::index_t>("0 or a positive whole number", "NONNEGATIVE",
                              [](weft::index_t number) { return number >= 0; });
}

CLI::Validator whole_number(weft::index_t least, weft::index_t most) {
  return check<weft::index_t>(
      weft::text("a whole number from ", least, " to ", most), weft::text(least, " to ", most),
      [least, most](weft::index_t number) { return least <= number && number <= most; });
}

CLI::Validator seed() {
  return check<std::uint64_t>("a whole number from 0 to 2^64 - 1", "SEED",
                              [](std::uint64_t) { return true; });
}

CLI::Validator positive_number() {
  return check<double>("a positive number", "POSITIVE",
                       [](double number) { return number > 0.0 && std::isfinite(number); });
}

CLI::Validator number_from_0() {
  return check<double>("0 or a positive number", "NONNEGATIVE",
                       [](double number) { return number >= 0.0 && std::isfinite(number); });
}

CLI::Validator share() {
  return check<double>("a number from 0 to below 1", "SHARE",
                       [](double number) { return number >= 0.0 && number < 1.0; });
}

CLI::Validator share_above_0() {
  return check<double>("a number above 0, at most 1", "SHARE",
                       [](double number) { return number > 0.0 && number <= 1.0; });
}

}  // namespace examples
