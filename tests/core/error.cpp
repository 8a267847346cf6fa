// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

namespace error_tests {

using namespace weft;

TEST_CASE("text joins strings, numbers and flags without a locale") {
  CHECK(text("x is ", 3, " of ", index_t{1} << 40, ", ", 0.5, ", ", true, '!') ==
        "x is 3 of 1099511627776, 0.5, true!");
  CHECK(text() == "");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(text(nan, " ", std::copysign(nan, -1.0), " ", -1.0 / 0.0) == "nan nan -inf");
}

TEST_CASE("an error carries its message and the place that threw it") {
  try {
    throw ShapeError(text("add: left is ", 3, ", right is ", 4));
  } catch (const Error& error) {
    CHECK(error.message() == "add: left is 3, right is 4");
    const std::string what = error.what();
    CHECK(what.starts_with(error.message()));
    CHECK(what.find("error.cpp:") != std::string::npos);
  }
}

}  // namespace error_tests
