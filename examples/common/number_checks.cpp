// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include "number_checks.hpp"

#include <weft/core/index.hpp>

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace examples {

namespace {

//! `wanted` is what `fits` takes, in words; `type` what `--help` calls it.
template <class Number>
CLI::Validator check(const std::string& wanted, const std::string& type, bool (*fits)(Number)) {
  const auto refusal = [wanted, fits](const std::string& word) -> std::string {
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

}  // namespace examples
