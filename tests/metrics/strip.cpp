// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/metrics/strip.hpp>

#include <catch2/catch.hpp>

namespace strip_tests {

using weft::metrics::strip_left;
using weft::metrics::strip_right;

TEST_CASE("strip takes white space from its end of the line only") {
  STATIC_REQUIRE(strip_left(" \ta b \n") == "a b \n");
  STATIC_REQUIRE(strip_right(" \ta b \n") == " \ta b");
}

TEST_CASE("strip takes white space beyond ASCII, but not the zero-width space") {
  CHECK(strip_right("a\u3000\u00A0\u2028") == "a");
  CHECK(strip_left("\u3000\u0085a") == "a");
  CHECK(strip_right("a\u200B") == "a\u200B");
}

TEST_CASE("a line of white space strips to nothing") {
  CHECK(strip_left(" \u3000 ").empty());
  CHECK(strip_right(" \u3000 ").empty());
  CHECK(strip_left("").empty());
}

}  // namespace strip_tests
