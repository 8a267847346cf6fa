// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/fingerprint.hpp>

#include <catch2/catch.hpp>

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

}  // namespace fingerprint_tests
