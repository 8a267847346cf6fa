// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/fixed.hpp>

#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>

namespace fixed_tests {

using namespace weft;

TEST_CASE("fixed rounds as printf does, ties and the largest numbers included") {
  const double values[] = {0.0,   -0.0,     0.5,    1.5,    2.5,
                           0.125, 0.375,    41.025, 99.995, -1.0,
                           1e22,  1.0 / 3., 1e-300, 1e300,  std::numeric_limits<double>::max()};
  for (const double value : values) {
    for (const int decimals : {0, 1, 2, 3, 17}) {
      char expected[400];
      std::snprintf(expected, sizeof expected, "%.*f", decimals, value);
      CHECK(fixed(value, decimals) == expected);
    }
  }
}

TEST_CASE("fixed names what is no number") {
  CHECK(fixed(std::numeric_limits<double>::infinity(), 2) == "inf");
  CHECK(fixed(-std::numeric_limits<double>::infinity(), 2) == "-inf");
  CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "nan");
  // What x86 makes of 0 / 0 has a sign.
  CHECK(fixed(-std::numeric_limits<double>::quiet_NaN(), 2) == "nan");
}

}  // namespace fixed_tests
