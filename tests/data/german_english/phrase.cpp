// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/phrase.hpp>

#include <catch2/catch.hpp>

namespace german_english_phrase_tests {

using weft::data::german_english::join;

TEST_CASE("parts are joined by single spaces, and empty ones leave none") {
  CHECK(join({}) == "");
  CHECK(join({"", ""}) == "");
  CHECK(join({"", "halb", "", "vier", ""}) == "halb vier");
}

}  // namespace german_english_phrase_tests
