// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/words.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace words_tests {

using namespace weft;
using namespace weft::data;

using Words = std::vector<std::string_view>;

TEST_CASE("words are what is left between white space") {
  CHECK(split_words("") == Words{});
  CHECK(split_words(" \t\r\n\v\f ") == Words{});
  CHECK(split_words("one") == Words{"one"});
  CHECK(split_words("  zwei \t Wörter ") == Words{"zwei", "Wörter"});
}

TEST_CASE("the code points that separate words are those of Python's str.isspace") {
  // [c for c in range(0x110000) if chr(c).isspace()], Python 3.11
  const std::vector<char32_t> expected = {
      0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,   0x1D,   0x1E,   0x1F,   0x20,
      0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
      0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  std::vector<char32_t> found;
  for (char32_t code_point = 0; code_point < 0x110000; ++code_point) {
    if (is_white_space(code_point)) found.push_back(code_point);
  }
  CHECK(found == expected);
}

TEST_CASE("white space of several bytes separates, and its bytes inside other letters do not") {
  CHECK(split_words("no\u00A0break\u3000wide\u2028") == Words{"no", "break", "wide"});
  CHECK(split_words("\u0120\u0105 \u8C60") == Words{"\u0120\u0105", "\u8C60"});  // hold A0 and 85
}

TEST_CASE("bytes that are not UTF-8 stay in their words") {
  CHECK(split_words("a\xA0\x85 \xFF\xE2\x80 b") == Words{"a\xA0\x85", "\xFF\xE2\x80", "b"});
}

}  // namespace words_tests
