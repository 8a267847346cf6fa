// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/vocabulary.hpp>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace vocabulary_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

using Words = std::vector<std::string>;
using Ids = std::vector<token_t>;

namespace {

WordCounts counts_of(std::initializer_list<const char*> lines) {
  WordCounts counts;
  for (const auto* line : lines) counts.add_line(line);
  return counts;
}

Words words_of(const Vocabulary& vocabulary) {
  Words words;
  for (token_t id = 0; id < vocabulary.size(); ++id) words.push_back(vocabulary.word(id));
  return words;
}

}  // namespace

TEST_CASE("words are numbered by falling count, then by code point, after the special words") {
  const auto counts = counts_of({"b a c b Zebra \u00E4 z", "c \uFF21 \U00010400"});
  CHECK(words_of(build_vocabulary(counts)) == Words{"<pad>", "<unk>", "<bos>", "<eos>", "b", "c",
                                                    "Zebra", "a", "z", "\u00E4", "\uFF21",
                                                    "\U00010400"});
}

TEST_CASE("rare words are left out, and then those beyond the maximum size") {
  const auto counts = counts_of({"a a a b b c c d <unk> <unk> <unk> <unk>"});
  CHECK(words_of(build_vocabulary(counts, {.minimum_count = 2}, {"<unk>"})) ==
        Words{"<unk>", "a", "b", "c"});
  CHECK(words_of(build_vocabulary(counts, {.maximum_size = 3}, {"<unk>"})) ==
        Words{"<unk>", "a", "b"});
  CHECK(words_of(build_vocabulary(counts, {.minimum_count = 3, .maximum_size = 9}, {"<unk>"})) ==
        Words{"<unk>", "a"});
  CHECK(message_of<ArgumentError>([&] { return build_vocabulary(counts, {.maximum_size = 4}); }) ==
        "build_vocabulary: 4 special words leave no room in at most 4");
}

TEST_CASE("the special words of translation have the ids 0 to 3") {
  const auto vocabulary = build_vocabulary(counts_of({"ja"}));
  CHECK(vocabulary.pad() == 0);
  CHECK(vocabulary.unk() == 1);
  CHECK(vocabulary.bos() == 2);
  CHECK(vocabulary.eos() == 3);
  CHECK(vocabulary["ja"] == 4);
}

TEST_CASE("a special word that is not there is an error, and <unk> must be there") {
  const Vocabulary vocabulary({"<s>", "<unk>"}, Words{"<eos>"});
  CHECK(vocabulary.unk() == 1);
  CHECK(vocabulary["<eos>"] == 2);  // here a word like any other
  CHECK(message_of<DataError>([&] { return vocabulary.eos(); }) ==
        "vocabulary: <eos> is not one of its special words");
  CHECK(message_of<DataError>([] { return Vocabulary({"<pad>"}, Words{"<unk>"}); }) ==
        "vocabulary: <unk> is not one of its special words");
}

TEST_CASE("a line is encoded word by word, and unknown words are counted") {
  const Vocabulary vocabulary(translation_specials(), Words{"ein", "Wort"});
  Ids ids = {9};
  CHECK(vocabulary.encode(" ein\tneues  Wort und ein Wort ", ids) == 2);
  CHECK(ids == Ids{9, 4, 1, 5, 1, 4, 5});
  CHECK(vocabulary.encode("") == Ids{});
}

TEST_CASE("a line cannot spell a special word") {
  const Vocabulary vocabulary(translation_specials(), Words{"ein"});
  Ids ids;
  CHECK(vocabulary.encode("<bos> ein <eos> <pad> <unk>", ids) == 4);
  CHECK(ids == Ids{1, 4, 1, 1, 1});
}

TEST_CASE("decoding stops at the end of the sentence and drops its start and the padding") {
  const Vocabulary vocabulary(translation_specials(), Words{"ein", "Wort"});
  CHECK(vocabulary.decode(Ids{2, 4, 0, 1, 5, 3, 4, 99}) == "ein <unk> Wort");
  CHECK(vocabulary.decode(Ids{4, 5}) == "ein Wort");
  CHECK(vocabulary.decode(Ids{}) == "");
  CHECK(vocabulary.decode(vocabulary.encode("Wort ein ein")) == "Wort ein ein");
}

TEST_CASE("an id outside the vocabulary is an error") {
  const Vocabulary vocabulary(translation_specials(), Words{"ein"});
  CHECK(message_of<DataError>([&] { return vocabulary.decode(Ids{5}); }) ==
        "vocabulary: no word has the id 5; there are 5");
  CHECK(message_of<DataError>([&] { return vocabulary.word(-1); }) ==
        "vocabulary: no word has the id -1; there are 5");
}

TEST_CASE("a saved vocabulary is loaded with the same ids") {
  TemporaryFolder folder;
  const auto path = folder.path("words.de");
  const Vocabulary saved(translation_specials(), Words{"über", "a"});
  saved.save(path);
  CHECK(io::read_file(path) == "<pad>\n<unk>\n<bos>\n<eos>\nüber\na\n");
  const auto loaded = Vocabulary::load(path);
  CHECK(words_of(loaded) == words_of(saved));
  CHECK(loaded.encode("a über <eos>") == Ids{5, 4, 1});
  CHECK(loaded.fingerprint() == saved.fingerprint());
}

TEST_CASE("a vocabulary's copy does not depend on the original") {
  auto original = std::make_unique<Vocabulary>(Words{"<unk>"}, Words{"a", "b"});
  const Vocabulary copy = *original;
  original.reset();
  CHECK(copy.encode("b a c") == Ids{2, 1, 0});
}

TEST_CASE("a vocabulary file that cannot be right is refused with its line") {
  TemporaryFolder folder;
  const auto error_of = [&](const std::string& contents) {
    const auto path = folder.write("words", contents);
    return message_of<DataError>([&] { return Vocabulary::load(path); }).substr(path.size());
  };
  const std::string specials = "<pad>\n<unk>\n<bos>\n<eos>\n";
  CHECK(error_of(specials + "a\n\nb\n") == ", line 6: empty");
  CHECK(error_of(specials + "a\nb\na\n") == ", line 7: \"a\" stands in line 5 already");
  CHECK(error_of(specials + "<unk>\n") == ", line 5: \"<unk>\" stands in line 2 already");
  CHECK(error_of(specials + "a\tb\n") == ", line 5: \"a?b\" holds white space");
  CHECK(error_of(std::string(100'000, 'x')) ==
        ", line 1: expected the special word <pad>, found \"" + std::string(120, 'x') + "...\"");
  CHECK(error_of("<pad>\n<unk>\n<eos>\n<bos>\n") ==
        ", line 3: expected the special word <bos>, found \"<eos>\"");
  // What follows is not read: of a gzip file it may be more than there is memory for.
  CHECK(error_of(specials + "a\na\n\xFF\n") == ", line 6: \"a\" stands in line 5 already");
  CHECK(error_of(specials + "\n\xFF\n") == ", line 5: empty");
  CHECK(error_of("<pad>\n<unk>\n") ==
        ", line 3: expected the special word <bos>, found the end of the file");
}

TEST_CASE("the fingerprint is the FNV-1a hash of the saved file") {
  // FNV-1a of "<unk>\nfoobar\n" by an independent program (Python, ten lines).
  CHECK(Vocabulary({"<unk>"}, Words{"foobar"}).fingerprint() == 0x16F1B9A73B936E82);
}

TEST_CASE("the fingerprint tells vocabularies apart whose letters are the same") {
  const auto fingerprint = [](const Words& words) {
    return Vocabulary({"<unk>"}, words).fingerprint();
  };
  CHECK(fingerprint({"a", "b"}) == fingerprint({"a", "b"}));
  CHECK(fingerprint({"a", "b"}) != fingerprint({"b", "a"}));
  CHECK(fingerprint({"ab", "c"}) != fingerprint({"a", "bc"}));
  CHECK(fingerprint({"a"}) != fingerprint({"a", "b"}));
}

}  // namespace vocabulary_tests
