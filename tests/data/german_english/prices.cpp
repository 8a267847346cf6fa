// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/prices.hpp>

#include "../../message_of.hpp"

#include <catch2/catch.hpp>

namespace german_english_prices_tests {

using namespace weft;
using namespace weft::data::german_english;
using weft::testing::message_of;

TEST_CASE("prices are said without the word for cents if there are euros") {
  CHECK(price(3, 0) == Phrase{"drei Euro", "three euros"});
  CHECK(price(3, 50) == Phrase{"drei Euro fünfzig", "three euros fifty"});
  CHECK(price(250, 5) ==
        Phrase{"zwei hundert fünfzig Euro fünf", "two hundred and fifty euros five"});
  CHECK(price(0, 20) == Phrase{"zwanzig Cent", "twenty cents"});
}

TEST_CASE("one euro and one cent are single, and an object in German") {
  CHECK(price(1, 0) == Phrase{"einen Euro", "one euro"});
  CHECK(price(1, 1) == Phrase{"einen Euro eins", "one euro one"});
  CHECK(price(0, 1) == Phrase{"einen Cent", "one cent"});
  CHECK(price(101, 0) == Phrase{"ein hundert ein Euro", "one hundred and one euros"});
}

TEST_CASE("no money and impossible money are errors") {
  CHECK(message_of<ArgumentError>([] { return price(0, 0); }) ==
        "price: 0 euros and 0 cents are no price");
  CHECK(message_of<ArgumentError>([] { return price(1, 100); }) ==
        "price: 1 euros and 100 cents are no price");
  CHECK(message_of<ArgumentError>([] { return price(-1, 5); }) ==
        "price: -1 euros and 5 cents are no price");
}

}  // namespace german_english_prices_tests
