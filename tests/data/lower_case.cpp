// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/lower_case.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <cstdint>

namespace lower_case_tests {

using namespace weft;
using namespace weft::data;

TEST_CASE("every code point has the lower case that Python gives it") {
  static_assert(lower_case(U'\u0130') == U'i');
  // FNV-1a over all of them; tests/reference/lower_case.py, Python 3.11.
  std::uint64_t hash = 0xCBF29CE484222325;
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (code_point == 0xD800) code_point = 0xE000;
    const char32_t lower = lower_case(code_point);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (lower >> shift & 0xFF)) * 0x100000001B3;
    }
  }
  CHECK(hash == 0x7687652BE5CADEC6);
}

TEST_CASE("a line is lowered in every script that has two cases") {
  CHECK(lower_case("") == "");
  CHECK(lower_case("ÄÖÜ ẞ ŁÓDŹ ΆΛΦΑ ЁЖ Ԛ Ⴀ Ａ 𐐀 1 ß 中") == "äöü ß łódź άλφα ёж ԛ ⴀ ａ 𐐨 1 ß 中");
}

TEST_CASE("an I with a dot keeps its dot as an accent") { CHECK(lower_case("İI") == "i\u0307i"); }

TEST_CASE("a sigma is final after a letter and before none") {
  // The right sides are what Python's str.lower gives.
  CHECK(lower_case("ΑΣ") == "ας");
  CHECK(lower_case("ΑΣ ΑΣΑ Σ ΣΑΣ") == "ας ασα σ σας");
  CHECK(lower_case("ΑΣ. Α.ΣΑ Α'Σ ΑΣ'Α 1Σ ΑΣ1") == "ας. α.σα α'ς ασ'α 1σ ας1");
  CHECK(lower_case("Α\u0301Σ\u0301 ΑΣ\u0301Α ßΣ") == "α\u0301ς\u0301 ασ\u0301α ßς");
  CHECK(lower_case("İΣ ΑΣİ") == "i\u0307ς ασi\u0307");
}

TEST_CASE("a line that is not UTF-8 has no lower case") {
  CHECK(weft::testing::message_of<FormatError>([] { return lower_case("AB\xC4"); }) ==
        "lower_case: byte 2 is not UTF-8");
}

}  // namespace lower_case_tests
