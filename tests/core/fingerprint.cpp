// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/fingerprint.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

namespace fingerprint_tests {

using weft::Fingerprint;

TEST_CASE("a fingerprint is the FNV-1a hash of the bytes") {
  // The published values for "", "a" and "foobar".
  STATIC_REQUIRE(Fingerprint().value() == 0xcbf29ce484222325);
  STATIC_REQUIRE(Fingerprint().add("a").value() == 0xaf63dc4c8601ec8c);
  STATIC_REQUIRE(Fingerprint().add("foo").add("bar").value() == 0x85944171f73967e8);
}

TEST_CASE("a number counts with all its bytes, the lowest first") {
  STATIC_REQUIRE(Fingerprint().add(0x61).value() ==
               Fingerprint().add({"a\0\0\0\0\0\0\0", 8}).value());
  STATIC_REQUIRE(Fingerprint().add(1).value() != Fingerprint().add(1ull << 40).value());
}

TEST_CASE("floats count with their bits, alone and in arrays") {
  const auto of = [](auto number) { return Fingerprint().add(number).value(); };
  CHECK(of(0.25f) != of(0.5f));
  CHECK(of(-0.25f) != of(0.25f));
  CHECK(of(0.25f) == of(0.25));
  const std::vector<float> numbers{0.25f, 0.5f}, others{0.25f, 0.75f};
  CHECK(of(numbers) != of(others));
  CHECK(of(numbers) == of(std::vector<std::int32_t>{0x3e800000, 0x3f000000}));
}

}  // namespace fingerprint_tests
