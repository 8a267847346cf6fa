// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/metrics/tokenizers.hpp>

#include <weft/data/words.hpp>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "../message_of.hpp"

namespace tokenizers_tests {

using namespace weft;
using namespace weft::metrics;

namespace {

//! The tokens with a space between them, as sacreBLEU's tokenizers return them.
std::string tokens(const AnyTokenizer& tokenize, std::string_view line) {
  const std::string tokenized = tokenize(line);
  std::string out;
  for (const auto word : data::split_words(tokenized)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

}  // namespace

// The expectations in this file were printed by sacreBLEU 2.6.0.

TEST_CASE("13a sets punctuation apart, but not in numbers and contractions") {
  const ThirteenATokenizer tokenize;
  CHECK(tokens(tokenize, "3.14 1,000,000 a.b,c") == "3.14 1,000,000 a . b , c");
  CHECK(tokens(tokenize, "a-b 5-6 2020-21") == "a-b 5 - 6 2020 - 21");
  CHECK(tokens(tokenize, "it's don't") == "it's don't");
  CHECK(tokens(tokenize, "U.S.A. e.g. x.") == "U . S . A . e . g . x .");
  CHECK(tokens(tokenize, ".5 5. ...") == ". 5 5 . . . .");
  CHECK(tokens(tokenize, "\u2026\u2014\u201Cq\u201D") == "\u2026\u2014\u201Cq\u201D");
}

TEST_CASE("13a unpacks entities once, the ampersand second, and joins hyphenated lines") {
  const ThirteenATokenizer tokenize;
  CHECK(tokens(tokenize, "&quot;x&amp;quot; &lt;b&gt;") == "\" x & quot ; < b >");
  CHECK(tokens(tokenize, "&amp;lt;<skipped>&apos;") == "< & apos ;");
  CHECK(tokens(tokenize, "trans-\nlate a\nb") == "translate a b");
}

TEST_CASE("zh makes a token of each Chinese character, and of dashes for the bug's sake") {
  const ZhTokenizer tokenize;
  CHECK(tokens(tokenize, "GDP\u589E\u957F3.5%\u2014\u521B\u65B0\u9AD8") ==
        "GDP \u589E \u957F 3.5 % \u2014 \u521B \u65B0 \u9AD8");
  CHECK(tokens(tokenize, "\U00020000a") == "\U00020000a");
}

TEST_CASE("zh, unlike 13a, leaves a point alone at the line's ends") {
  CHECK(tokens(ZhTokenizer(), " .5 5.") == ".5 5.");
  CHECK(tokens(ThirteenATokenizer(), " .5 5.") == ". 5 5 .");
}

TEST_CASE("zh's Chinese begins and ends where sacreBLEU's does") {
  constexpr char32_t inside[] = {0x2001, 0x2A6D, 0x2E80, 0x2FDF, 0x2FF0, 0x303F, 0x3100, 0x4DB5,
                                 0x4E00, 0x9FBB, 0xF900, 0xFA2D, 0xFA30, 0xFAD9, 0xFF00, 0xFFEF};
  constexpr char32_t outside[] = {0x0,    0x61,   0x2000, 0x2A6E, 0x2E7F,  0x2FE0, 0x2FEF,
                                  0x3040, 0x30FF, 0x4DB6, 0x4DFF, 0x9FBC,  0xF8FF, 0xFA2E,
                                  0xFA2F, 0xFADA, 0xFEFF, 0xFFF0, 0x20000, 0x2F800};
  for (const char32_t c : inside) CHECK(ZhTokenizer::is_chinese(c));
  for (const char32_t c : outside) CHECK_FALSE(ZhTokenizer::is_chinese(c));
}

TEST_CASE("char makes a token of each code point, none leaves the line") {
  CHECK(tokens(CharTokenizer(), "a\u00E9 \u4E2D\u0301.") == "a \u00E9 \u4E2D \u0301 .");
  CHECK(tokens(NoneTokenizer(), "a.  b,c") == "a. b,c");
}

TEST_CASE("bytes that are not UTF-8 come out of every tokenizer") {
  for (const char* name : {"none", "char", "13a", "zh"}) {
    const auto tokenized = tokens(tokenizer_named(name), "\xE9.\xFF\xE4\xB8");
    for (const char byte : {'\xE9', '\xFF', '\xE4', '\xB8'}) {
      CHECK(tokenized.find(byte) != std::string::npos);
    }
  }
}

TEST_CASE("a tokenizer that there is not is an error that lists those there are") {
  CHECK(testing::message_of<ArgumentError>([] { return tokenizer_named("intl"); }) ==
        "no tokenizer is named \"intl\"; there are none, char, 13a, zh");
}

}  // namespace tokenizers_tests
