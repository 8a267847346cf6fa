// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/float16.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace float16_tests {

using weft::Float16;

namespace {

constexpr float rounded(float x) { return static_cast<float>(Float16(x)); }

constexpr Float16 of_bits(std::uint32_t bits) {
  Float16 number;
  number.bits = static_cast<std::uint16_t>(bits);
  return number;
}

static_assert(Float16(1.0f).bits == 0x3c00);
static_assert(Float16(-2.0f).bits == 0xc000);
static_assert(Float16(65504.0f).bits == 0x7bff);
static_assert(Float16(0x1p-14f).bits == 0x0400);
static_assert(Float16(0x1p-24f).bits == 0x0001);
static_assert(rounded(-0.15625f) == -0.15625f);
static_assert(rounded(1.00048828125f) == 1.0f);          // a tie goes to the even neighbour below
static_assert(rounded(1.00146484375f) == 1.001953125f);  // and above
static_assert(rounded(1.0005f) == 1.0009765625f);

//! What a number from 0 to 65,504 is rounded to, by the size of its last bit.
double nearest(double x) {
  const double last = std::ldexp(1.0, std::max(x > 0.0 ? std::ilogb(x) : -14, -14) - 10);
  return std::nearbyint(x / last) * last;  // ties to even
}

}  // namespace

TEST_CASE("every number of 16 bits is a float that rounds to it, between its neighbours") {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto wide = static_cast<float>(of_bits(bits));
    const std::uint32_t size = bits & 0x7fffu;
    if (size > 0x7c00u) {
      REQUIRE(std::isnan(wide));
      REQUIRE(Float16(wide).bits == (bits | 0x200u));  // what is no number says so quietly
      continue;
    }
    REQUIRE(Float16(wide).bits == bits);
    REQUIRE(std::signbit(wide) == (bits >= 0x8000u));
    const double fraction = (size & 0x3ffu) + (size < 0x400u ? 0.0 : 1024.0);
    const int exponent = std::max(static_cast<int>(size >> 10), 1) - 25;
    if (size < 0x7c00u)
      REQUIRE(std::abs(static_cast<double>(wide)) == std::ldexp(fraction, exponent));
  }
}

TEST_CASE("every float in its range rounds to the nearest number of 16 bits") {
  for (std::uint32_t word = 0; word < 0x4780'0000u; word += 4099) {
    const auto x = std::bit_cast<float>(word);
    const double should = nearest(static_cast<double>(x));
    if (should > 65504.0) {
      REQUIRE(rounded(x) == std::numeric_limits<float>::infinity());
    } else {
      REQUIRE(static_cast<double>(rounded(x)) == should);
      REQUIRE(static_cast<double>(rounded(-x)) == -should);
    }
  }
}

TEST_CASE("halfway between two numbers of 16 bits, the even one is taken") {
  for (std::uint32_t bits = 0; bits < 0x7bffu; ++bits) {
    const float low = static_cast<float>(of_bits(bits)),
                high = static_cast<float>(of_bits(bits + 1));
    const float middle = low + (high - low) / 2;
    REQUIRE(Float16(middle).bits == bits + (bits & 1u));
    REQUIRE(Float16(std::nextafter(middle, 0.0f)).bits == bits);
    REQUIRE(Float16(std::nextafter(middle, high)).bits == bits + 1);
  }
}

TEST_CASE("what is too large becomes infinite, and what is too small 0, with its sign") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(rounded(infinity) == infinity);
  CHECK(rounded(-infinity) == -infinity);
  CHECK(rounded(std::numeric_limits<float>::max()) == infinity);
  CHECK(rounded(-65520.0f) == -infinity);
  CHECK(rounded(65519.996f) == 65504.0f);
  CHECK(rounded(0x1p-25f) == 0.0f);
  CHECK(rounded(0x1.000002p-25f) == 0x1p-24f);
  CHECK(rounded(std::numeric_limits<float>::denorm_min()) == 0.0f);
  CHECK(Float16(-0.0f).bits == 0x8000);
  CHECK(Float16(-0x1p-30f).bits == 0x8000);
}

TEST_CASE("what is no number stays none in 16 bits") {
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(rounded(std::bit_cast<float>(0x7f80'0001u))));  // one bit of payload, cut off
  CHECK(std::isnan(rounded(std::bit_cast<float>(0xffff'ffffu))));
}

}  // namespace float16_tests
