// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/parallel_corpus.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace parallel_corpus_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;

using Ids = std::vector<token_t>;
using Numbers = std::vector<index_t>;

namespace {

const Vocabulary german(translation_specials(), std::vector<std::string>{"ein", "Hund"});
const Vocabulary english({"<unk>", "<eos>", "<bos>"}, std::vector<std::string>{"a", "dog"});

ParallelText example() {
  ParallelText pairs;
  pairs.name = "example";
  pairs.add(1, "ein Hund", "a dog");
  pairs.add(2, "", "nothing");
  pairs.add(3, "ein Hund ein Hund", "a a");
  pairs.add(4, "Hund Katze", "dog cat cat dog a");
  return pairs;
}

}  // namespace

TEST_CASE("each side is encoded with its own vocabulary, without the words around it") {
  const auto [corpus, report] = encode_text(example(), german, english);
  CHECK(corpus.source.tokens == Ids{4, 5, 4, 5, 4, 5, 5, 1});
  CHECK(corpus.source.offsets == Numbers{0, 2, 6, 8});
  CHECK(corpus.target.tokens == Ids{3, 4, 3, 3, 4, 0, 0, 4, 3});
  CHECK(corpus.target.offsets == Numbers{0, 2, 4, 9});
  CHECK(corpus.pairs == Numbers{0, 1, 2});
  CHECK((corpus.source_eos == 3 && corpus.target_eos == 1 && corpus.target_bos == 2));
  CHECK((corpus.source_length(1) == 5 && corpus.target_length(2) == 6));
  CHECK(to_text(report) ==
        "pairs: 3; skipped, a side without words: 1 (at 2)\n"
        "source: 8 words, 1 unknown, longest sentence 5 with its end\n"
        "target: 9 words, 2 unknown, longest sentence 6 with its end");
}

TEST_CASE("a sentence that is too long is refused by default, with its line and length") {
  CHECK(message_of<DataError>([] { return encode_text(example(), german, english, {4}); }) ==
        "example, line 3: the source sentence has 5 tokens with its end, the limit is 4");
  CHECK(message_of<DataError>([] { return encode_text(example(), german, english, {5}); }) ==
        "example, line 4: the target sentence has 6 tokens with its end, the limit is 5");
  CHECK(encode_text(example(), german, english, {6}).corpus.size() == 3);
}

TEST_CASE("a pair that is too long on one side is dropped, and its words are not counted") {
  const auto [corpus, report] = encode_text(example(), german, english, {4, TooLong::drop});
  CHECK(corpus.source.tokens == Ids{4, 5});
  CHECK(corpus.target.tokens == Ids{3, 4});
  CHECK(corpus.pairs == Numbers{0});
  CHECK(to_text(report) ==
        "pairs: 1; skipped, a side without words: 1 (at 2); dropped as too long: 2\n"
        "source: 2 words, 0 unknown, longest sentence 3 with its end\n"
        "target: 2 words, 0 unknown, longest sentence 3 with its end");
}

TEST_CASE("a truncated sentence keeps the words that leave room for its end") {
  const auto [corpus, report] = encode_text(example(), german, english, {4, TooLong::truncate});
  CHECK(corpus.source.tokens == Ids{4, 5, 4, 5, 4, 5, 1});
  CHECK(corpus.source.offsets == Numbers{0, 2, 5, 7});
  CHECK(corpus.target.tokens == Ids{3, 4, 3, 3, 4, 0, 0});
  CHECK(corpus.target.offsets == Numbers{0, 2, 4, 7});
  CHECK(to_text(report) ==
        "pairs: 3; skipped, a side without words: 1 (at 2); truncated: 2\n"
        "source: 7 words, 1 unknown, longest sentence 4 with its end\n"
        "target: 7 words, 2 unknown, longest sentence 4 with its end");
}

TEST_CASE("a report names the first skipped lines and says if there are more") {
  ParallelText pairs;
  for (index_t line = 1; line <= 7; ++line) pairs.add(line * line, "", "x");
  CHECK(to_text(encode_text(pairs, german, english).report)
            .starts_with("pairs: 0; skipped, a side without words: 7 (at 1, 4, 9, 16, 25, ...)\n"));
}

TEST_CASE("what leaves no room for words is an error") {
  CHECK(message_of<ArgumentError>([] { return encode_text(example(), german, english, {1}); }) ==
        "encode_text: sentences of at most 1 tokens have no room for a word and <eos>");
}

TEST_CASE("a text that comes from no file has pairs, and no lines") {
  ParallelText text;
  text.source = {"a", "a b"};
  text.target = {"x", "x"};
  CHECK(encode_text(text, german, english).corpus.size() == 2);
  CHECK(message_of<DataError>([&] { return encode_text(text, german, english, {2}); }) ==
        "pair 2: the source sentence has 3 tokens with its end, the limit is 2");
  text.target.pop_back();
  CHECK(message_of<DataError>([&] { return encode_text(text, german, english); }) ==
        "encode_text: 2 sentences have 1 translations");
}

TEST_CASE("translation needs vocabularies that can begin and end a sentence") {
  const Vocabulary words_only({"<unk>"}, std::vector<std::string>{});
  CHECK(message_of<DataError>([&] { return encode_text(example(), words_only, english); }) ==
        "vocabulary: <eos> is not one of its special words");
  CHECK(message_of<DataError>([&] { return encode_text(example(), german, words_only); }) ==
        "vocabulary: <bos> is not one of its special words");
}

}  // namespace parallel_corpus_tests
