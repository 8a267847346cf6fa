// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/bfloat16.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bfloat16_tests {

using weft::Bfloat16;

namespace {

constexpr float rounded(float x) { return static_cast<float>(Bfloat16(x)); }

static_assert(rounded(1.0f) == 1.0f);
static_assert(rounded(-0.15625f) == -0.15625f);
static_assert(rounded(1.00390625f) == 1.0f);       // a tie goes to the even neighbour below
static_assert(rounded(1.01171875f) == 1.015625f);  // and above
static_assert(rounded(1.0040f) == 1.0078125f);

}  // namespace

TEST_CASE("every float rounds to the nearest of its two neighbours") {
  for (std::uint32_t word = 0x0080'0000u; word < 0x7f00'0000u; word += 4097) {
    const double x = std::bit_cast<float>(word);
    const double low = std::bit_cast<float>(word & 0xffff'0000u);
    const double high = std::bit_cast<float>((word & 0xffff'0000u) + 0x0001'0000u);
    const double off = std::abs(rounded(std::bit_cast<float>(word)) - x);
    REQUIRE(off == std::min(x - low, high - x));
    REQUIRE(off <= std::ldexp(x, -8));
  }
}

TEST_CASE("infinities and what is no number stay what they are") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(infinity) == infinity);
  CHECK(rounded(-infinity) == -infinity);
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0x7f80'0001u))));  // one bit of payload, cut off
  CHECK(rounded(std::numeric_limits<float>::max()) == infinity);
  CHECK(std::signbit(rounded(-0.0f)));
}

}  // namespace bfloat16_tests
