// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/utf8.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

namespace utf8_tests {

using namespace weft;
using namespace weft::io;
using namespace std::string_view_literals;

TEST_CASE("every code point is read back from its own encoding, and has the right length") {
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point == 0xD800) code_point = 0xE000;
    std::string encoded;
    append_utf8(encoded, code_point);
    const index_t bytes = code_point < 0x80      ? 1
                          : code_point < 0x800   ? 2
                          : code_point < 0x10000 ? 3
                                                 : 4;
    if (decode_utf8(encoded + "x") != Utf8Character{code_point, bytes} ||
        std::ssize(encoded) != bytes) {
      FAIL("code point " << static_cast<unsigned>(code_point));
    }
  }
}

TEST_CASE("the encodings are those of RFC 3629") {
  std::string encoded;
  for (char32_t code_point : {U'A', U'\u00DF', U'\u2262', U'\U000233B4'})
    append_utf8(encoded, code_point);
  CHECK(encoded == "A\xC3\x9F\xE2\x89\xA2\xF0\xA3\x8E\xB4");
}

TEST_CASE("what is not UTF-8 is not a character") {
  const auto text =
      GENERATE(as<std::string_view>{},
               "",                              // nothing
               "\x80", "\xBF",                  // a tail without a lead
               "\xC0\x80", "\xC1\xBF",          // overlong: two bytes for one
               "\xE0\x9F\xBF",                  // overlong: three for two
               "\xF0\x8F\xBF\xBF",              // overlong: four for three
               "\xED\xA0\x80", "\xED\xBF\xBF",  // surrogates
               "\xF4\x90\x80\x80",              // beyond U+10FFFF
               "\xF5\x80\x80\x80", "\xFF", "\xFE", "\xC3", "\xE2\x89", "\xF0\xA3\x8E",  // cut off
               "\xC3"
               "A",
               "\xE2\x89"
               "A",
               "\xF0\xA3\x8E"
               "A");
  CHECK(decode_utf8(text) == Utf8Character{});
}

TEST_CASE("the first byte outside every character is found") {
  CHECK(find_invalid_utf8("") == std::nullopt);
  CHECK(find_invalid_utf8("a\0\xC3\x9F\xF0\xA3\x8E\xB4"sv) == std::nullopt);
  CHECK(find_invalid_utf8("\xFF") == 0);
  CHECK(find_invalid_utf8("ab\xC3\x9F\x9F") == 4);
  CHECK(find_invalid_utf8("ab\xE2\x89") == 2);
}

TEST_CASE("a text is cut into characters, a byte that is not UTF-8 alone") {
  std::string cut;
  for_each_character("a\xC3\x9F\xFF\xE2\x89 \xF0\xA3\x8E\xB4",
                     [&](char32_t code_point, auto character) {
                       cut.append(character) += code_point == 0 ? '!' : '|';
                     });
  CHECK(cut == "a|\xC3\x9F|\xFF!\xE2!\x89! |\xF0\xA3\x8E\xB4|");
}

}  // namespace utf8_tests
