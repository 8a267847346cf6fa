// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/parallel_text.hpp>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace parallel_text_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

using Lines = std::vector<std::string>;
using Numbers = std::vector<index_t>;

TEST_CASE("line n of one file is paired with line n of the other") {
  TemporaryFolder folder;
  const auto pairs = read_line_files(folder.write("de", "ein Hund\nzwei Hunde\r\n"),
                                     folder.write("en", "a dog\ntwo dogs"));
  CHECK(pairs.source == Lines{"ein Hund", "zwei Hunde"});
  CHECK(pairs.target == Lines{"a dog", "two dogs"});
  CHECK(pairs.lines == Numbers{1, 2});
  CHECK(pairs.skipped == 0);
  CHECK(pairs.name == folder.path("de") + " and " + folder.path("en"));
}

TEST_CASE("a pair without a word on one side is skipped, and the others keep their numbers") {
  TemporaryFolder folder;
  const auto pairs = read_line_files(folder.write("de", "a\n\nc\n \t\u00A0\ne\n\n\n\n\n"),
                                     folder.write("en", "A\nB\n\nD\nE\n\n\n\n\n"));
  CHECK(pairs.source == Lines{"a", "e"});
  CHECK(pairs.target == Lines{"A", "E"});
  CHECK(pairs.lines == Numbers{1, 5});
  CHECK(pairs.skipped == 7);
  CHECK(pairs.skipped_lines == Numbers{2, 3, 4, 6, 7});
}

TEST_CASE("files of different lengths are refused with both counts and the lines left over") {
  TemporaryFolder folder;
  const auto two = folder.write("two", "a\nb\n");
  const auto three = folder.write("three", "A\nB\nC c\n");
  const auto many = folder.write("many", "1\n2\n3\n\n5\n6\n7\n");
  const auto none = folder.write("none", "");
  CHECK(message_of<DataError>([&] { return read_line_files(two, three); }) ==
        three + " has 3 lines and " + two + " has 2; without a partner in " + three +
            ":\n  line 3: C c");
  CHECK(message_of<DataError>([&] { return read_line_files(many, two); }) ==
        many + " has 7 lines and " + two + " has 2; without a partner in " + many +
            ":\n  line 3: 3\n  line 4: \n  line 5: 5\n  ...");
  CHECK(message_of<DataError>([&] {
          return read_line_files(none, two);
        }).starts_with(two + " has 2 lines and " + none + " has 0;"));
  CHECK(read_line_files(none, none).size() == 0);
}

TEST_CASE("of a long line without a partner the whole characters of its beginning are told") {
  TemporaryFolder folder;
  const auto none = folder.write("none", "");
  std::string umlauts = "x";
  for (int letter = 0; letter < 100; ++letter) umlauts += "ü";
  const auto one = folder.write("one", umlauts);
  CHECK(message_of<DataError>([&] {
          return read_line_files(one, none);
        }).ends_with("line 1: " + umlauts.substr(0, 59)));
  const auto steers = folder.write("steers", "\x1B[2J");
  CHECK(message_of<DataError>([&] {
          return read_line_files(steers, none);
        }).ends_with("line 1: ?[2J"));
}

TEST_CASE("a tab parts the two columns") {
  TemporaryFolder folder;
  const auto pairs = read_tsv(folder.write("t", "ein Hund\ta dog\n\tnothing\nzwei \t two\n"));
  CHECK(pairs.source == Lines{"ein Hund", "zwei "});
  CHECK(pairs.target == Lines{"a dog", " two"});
  CHECK(pairs.lines == Numbers{1, 3});
  CHECK(pairs.skipped_lines == Numbers{2});
}

TEST_CASE("a line that has not two columns is refused") {
  TemporaryFolder folder;
  const auto one = folder.write("one", "a\tA\n\n");
  CHECK(message_of<FormatError>([&] { return read_tsv(one); }) ==
        one + ", line 2: expected two columns, found no tab");
  const auto three = folder.write("three", "a\tA\t\n");
  CHECK(message_of<FormatError>([&] { return read_tsv(three); }) ==
        three + ", line 1: expected two columns, found more than one tab");
}

}  // namespace parallel_text_tests
