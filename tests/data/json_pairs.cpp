// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/json_pairs.hpp>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace json_pairs_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

using Lines = std::vector<std::string>;
using Numbers = std::vector<index_t>;

TEST_CASE("pairs are lists of two sentences or objects with both sides, in any mixture") {
  TemporaryFolder folder;
  const auto pairs = read_json_pairs(folder.write("t.json", R"([
      ["ein \"Hund\"", "a dog\n"],
      {"source": "zwei H\u00fcnde", "target": "two"},
      {"target": "three", "source": "\ud834\udd1e"}
    ])"));
  CHECK(pairs.source == Lines{"ein \"Hund\"", "zwei Hünde", "𝄞"});
  CHECK(pairs.target == Lines{"a dog\n", "two", "three"});
  CHECK(pairs.lines == Numbers{1, 2, 3});
  CHECK(read_json_pairs(folder.write("none.json", "[]")).size() == 0);
}

TEST_CASE("pairs with a side without words are skipped and numbered as in the file") {
  TemporaryFolder folder;
  const auto pairs = read_json_pairs(folder.write("t", R"([["", "A"], ["b", "B"], ["c", " "]])"));
  CHECK(pairs.source == Lines{"b"});
  CHECK(pairs.lines == Numbers{2});
  CHECK(pairs.skipped_lines == Numbers{1, 3});
}

TEST_CASE("JSON that is not a list of pairs is refused with the pair's number") {
  TemporaryFolder folder;
  const auto [contents, message] = GENERATE(table<std::string, std::string>({
      {R"({"source": "a", "target": "b"})", "pair 0: expected a list of pairs, found an object"},
      {R"("a")", "pair 0: expected a list of pairs, found a string"},
      {R"(3)", "pair 0: expected a list of pairs, found a number"},
      {R"([["a", "b"], null])", "pair 1: expected a pair after this one, found null"},
      {R"(["a", "b"])", "pair 0: expected a pair after this one, found a string"},
      {R"([["a", "b"], ["a"]])", "pair 2: no target sentence"},
      {R"([[]])", "pair 1: no source sentence"},
      {R"([["a", "b", "c"]])", "pair 1: more than two sentences"},
      {R"([["a", 1]])", "pair 1: expected a sentence, found a number"},
      {R"([["a", -1]])", "pair 1: expected a sentence, found a number"},
      {R"([["a", 1.5]])", "pair 1: expected a sentence, found a number"},
      {R"([["a", true]])", "pair 1: expected a sentence, found a boolean"},
      {R"([[["a", "b"]]])", "pair 1: expected a sentence, found a list or an object"},
      {R"([{"source": {}}])", "pair 1: expected a sentence, found a list or an object"},
      {R"([{"target": "b"}])", "pair 1: no source sentence"},
      {R"([{"source": "a", "source": "b"}])", "pair 1: two sentences for \"source\""},
      {R"([{"source": "a", "id": 1}])",
       "pair 1: the key \"id\" is neither \"source\" nor \"target\""},
      {R"([["a", "b\u0000"]])", "pair 1: a sentence holds a NUL character"},
  }));
  const auto path = folder.write("t", contents);
  CHECK(message_of<FormatError>([&] { return read_json_pairs(path); }) == path + ", " + message);
}

TEST_CASE("what is not JSON is refused with line and column") {
  TemporaryFolder folder;
  const auto [contents, place] = GENERATE(table<std::string, std::string>({
      {"", "line 1, column 1:"},
      {"[[\"a\", \"b\"]", "line 1, column 12:"},         // cut off
      {"[[\"a\", \"b\"]] x", "line 1, column 14:"},      // more after the list
      {"[\n [\"a\", \"\xFF\"]]", "line 2, column 9:"},   // not UTF-8
      {"[[\"a\", \"\\ud834\"]]", "line 1, column 15:"},  // half of a surrogate pair
      {"[[\"a\" \"b\"]]", "line 1, column 9:"},          // no comma
  }));
  const auto path = folder.write("t", contents);
  CHECK(message_of<FormatError>([&] {
          return read_json_pairs(path);
        }).starts_with(path + ": not JSON: parse error at " + place));
}

TEST_CASE("a message has of a file what can be read") {
  TemporaryFolder folder;
  const std::string long_name(1'000'000, 'x');
  const auto fault = [&](const std::string& contents) {
    const auto path = folder.write("t", contents);
    return message_of<FormatError>([&] { return read_json_pairs(path); }).substr(path.size());
  };
  CHECK(fault("[{\"" + long_name + "\": 1}]") == ", pair 1: the key \"" + std::string(120, 'x') +
                                                     "...\" is neither \"source\" nor \"target\"");
  const auto not_json = fault("[[\"a\", \"" + long_name);  // without an end
  CHECK(not_json.starts_with(": not JSON: parse error at line 1, column "));
  CHECK(not_json.ends_with("x..."));
  CHECK(not_json.size() < 400);
}

TEST_CASE("a list is not over where a byte is 0") {
  TemporaryFolder folder;
  const auto path = folder.write("t", std::string("[[\"a\", \"b\"]]\0 more", 18));
  CHECK(message_of<FormatError>([&] { return read_json_pairs(path); }) ==
        path + ": has a byte of 0, which is no JSON");
}

TEST_CASE("deep nesting is refused where it begins") {
  TemporaryFolder folder;
  const auto path = folder.write("t", std::string(1'000'000, '['));
  CHECK(message_of<FormatError>([&] { return read_json_pairs(path); }) ==
        path + ", pair 1: expected a sentence, found a list or an object");
}

}  // namespace json_pairs_tests
