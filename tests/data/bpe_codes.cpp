// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/bpe_codes.hpp>

#include <weft/core/clock.hpp>
#include <weft/core/text.hpp>
#include <weft/data/words.hpp>
#include <weft/io/utf8.hpp>

#include <catch2/catch.hpp>
#include <string>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace bpe_codes_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::testing;
using Catch::Contains;

namespace {

//! Of tests/reference/bpe_codes.py: text as subword-nmt cuts it.
std::string fixture(const std::string& name) { return WEFT_TESTS "/data/data/bpe/" + name; }

//! The fixture's text, cut: line by line as subword-nmt did.
void check_text(BpeCodes& codes, const std::string& expected_name) {
  const auto input = io::read_lines(fixture("input"));
  const auto expected = io::read_lines(fixture(expected_name));
  REQUIRE(input.size() == expected.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    CHECK(codes.split(input[i]) == expected[i]);
    CHECK(codes.split(input[i]) == expected[i]);  // by words that were seen before
  }
}

//! Why codes are refused, without their path.
std::string refusal(const std::string& contents) {
  const TemporaryFolder folder;
  const auto path = folder.write("codes", contents);
  const auto message = message_of<FormatError>([&] { return BpeCodes(path); });
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

}  // namespace

TEST_CASE("text is cut as subword-nmt cuts it") {
  BpeCodes codes(fixture("codes"));
  check_text(codes, "expected");
}

TEST_CASE("the end of a word is a symbol of its own in version 0.1") {
  BpeCodes codes(fixture("codes-0.1"));  // without a first line that says so
  check_text(codes, "expected-0.1");
  const TemporaryFolder folder;
  const auto contents = "#version: 0.1\n" + io::read_file(fixture("codes-0.1"));
  BpeCodes said(folder.write("codes", contents));
  check_text(said, "expected-0.1");
}

TEST_CASE("codes in any order are applied as subword-nmt applies them") {
  BpeCodes codes(fixture("codes-shuffled"));
  check_text(codes, "expected-shuffled");
}

TEST_CASE("subwords that a vocabulary lacks are split again") {
  BpeCodes codes(fixture("codes"));
  check_text(codes, "expected");  // what it remembers must be forgotten
  codes.keep_known(fixture("vocabulary"));
  check_text(codes, "expected-known");
  codes.keep_known(fixture("vocabulary"), 3);
  check_text(codes, "expected-known-3");
  BpeCodes shuffled(fixture("codes-shuffled"));
  shuffled.keep_known(fixture("vocabulary-short"));
  check_text(shuffled, "expected-shuffled-known");
}

TEST_CASE("a vocabulary that cannot be used is refused") {
  const TemporaryFolder folder;
  BpeCodes codes(fixture("codes"));
  const auto refused = [&](const std::string& contents) {
    const auto path = folder.write("words", contents);
    const auto message = message_of([&] { return codes.keep_known(path, 2), 0; });
    return message.starts_with(path) ? message.substr(path.size()) : message;
  };
  CHECK(refused("ab 3\ncd\n") == ", line 2: expected a subword and its count, found \"cd\"");
  CHECK_THAT(refused("ab x\n"), Contains("line 1"));
  CHECK_THAT(refused("ab 3 4\n"), Contains("line 1"));
  CHECK(refused("ab 1\n") == ": no subword is there at least 2 times");
  CHECK(refused("") == ": no subword is there at least 2 times");
  BpeCodes old(fixture("codes-0.1"));
  CHECK(message_of<ArgumentError>([&] { return old.keep_known(fixture("vocabulary")), 0; }) ==
        fixture("codes-0.1") + ": codes of version 0.1 cannot be used with a vocabulary");
  check_text(codes, "expected");  // as if nothing had been asked for
}

TEST_CASE("codes in the wrong format are refused by line") {
  CHECK(refusal("") == ": has no codes");
  CHECK(refusal("#version: 0.2\n\n\n") == ": has no codes");
  CHECK(refusal("#version: 0.3\na b\n") ==
        ", line 1: codes of version \"0.3\"; 0.1 and 0.2 are known");
  CHECK(refusal("#version: " + std::string(1000, 'x')) ==
        ", line 1: codes of version \"" + std::string(120, 'x') + "...\"; 0.1 and 0.2 are known");
  CHECK_THAT(refusal("\x1B[2J"), Contains("found \"?[2J\""));
  CHECK(refusal("#version: 0.2\na b\nabc\n") ==
        ", line 3: expected two symbols with a space between them, found \"abc\"");
  CHECK_THAT(refusal("a b c\n"), Contains("line 1: ") && Contains("found \"a b c\""));
  CHECK_THAT(refusal("a  b\n"), Contains("line 1"));
  CHECK_THAT(refusal("a b\n\nc d\n"), Contains("line 2: ") && Contains("found an empty line"));
  CHECK_THAT(refusal("a b\n" + std::string(1000, 'x')), Contains("found a line of 1000 bytes"));
  CHECK_THAT(refusal("a b\nc \xFF\n"), Contains("line 2: byte 2 (0xff) is not UTF-8"));
  CHECK_THAT(refusal("a b\nc \xE2\x82\n"), Contains("line 2"));
  CHECK(refusal("a b\r\nab c\r\n\r\n") == "(no error)");
  CHECK_THAT(message_of<SystemError>([] { return BpeCodes("/nowhere/codes"); }),
             Contains("/nowhere/codes"));
}

TEST_CASE("cut text is joined to what it was") {
  BpeCodes codes(fixture("codes"));
  for (const auto& line : io::read_lines(fixture("input"))) {
    CHECK(split_words(join_subwords(codes.split(line))) == split_words(line));
  }
  CHECK(join_subwords("a@@ b@@ c d@@") == "abc d");
  CHECK(join_subwords("a@@b @ @") == "a@@b @ @");
  CHECK(join_subwords("") == "");
}

TEST_CASE("a word as long as a file is cut in time") {
  // Ten thousand merges, each of which the word has twenty times, far from each other: going over
  // the word for each of them would take minutes.
  std::string contents = "#version: 0.2\n", word, expected;
  for (char32_t i = 0; i < 10'000; ++i) {
    std::string left, right;
    io::append_utf8(left, 0x4E00 + i);
    io::append_utf8(right, 0xAC00 + i);
    contents += text(left, ' ', right, '\n');
    word += left + right;
    expected += text(left, right, "@@ ");
  }
  for (const auto repeated : {&word, &expected}) {
    const std::string once = *repeated;
    for (int i = 1; i < 20; ++i) *repeated += once;
  }
  const TemporaryFolder folder;
  BpeCodes codes(folder.write("codes", contents));
  const double begin = monotonic_seconds();
  const std::string cut = codes.split(word + "!");
  CHECK(monotonic_seconds() - begin < 20.0);
  CHECK((cut == expected + "!"));
}

}  // namespace bpe_codes_tests
