// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Prices in German and English words.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/german_english/number_words.hpp>
#include <weft/data/german_english/phrase.hpp>

#include <string>

namespace weft::data::german_english {

//! A price as the object of a sentence: "drei Euro fünfzig", "three euros fifty"; "einen Euro",
//! "one euro"; "zwanzig Cent", "twenty cents".
//!
//! **Errors.** ArgumentError unless there are 0 to 999,999 euros, 0 to 99 cents, and something.
[[nodiscard]] inline Phrase price(index_t euros, index_t cents) {
  if (euros < 0 || euros > 999'999 || cents < 0 || cents > 99 || euros + cents == 0) {
    throw ArgumentError(text("price: ", euros, " euros and ", cents, " cents are no price"));
  }
  const auto german_count = [](index_t count) {
    return german_number(count, count == 1 ? "einen" : "ein");
  };
  if (euros == 0) {
    return {join({german_count(cents), "Cent"}),
            join({english_number(cents), cents == 1 ? "cent" : "cents"})};
  }
  return {join({german_count(euros), "Euro", cents > 0 ? german_number(cents) : ""}),
          join({english_number(euros), euros == 1 ? "euro" : "euros",
                cents > 0 ? english_number(cents) : ""})};
}

}  // namespace weft::data::german_english
