// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/translation_batch.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace translation_batch_tests {

using namespace weft;
using namespace weft::data;

using Ids = std::vector<token_t>;
using Numbers = std::vector<index_t>;

namespace {

//! Sentences 10 11 -> 20, 12 -> 21 22, 13 14 15 -> 23 24.
ParallelCorpus example() {
  ParallelCorpus corpus;
  corpus.source = {{10, 11, 12, 13, 14, 15}, {0, 2, 3, 6}};
  corpus.target = {{20, 21, 22, 23, 24}, {0, 1, 3, 5}};
  corpus.source_eos = 1;
  corpus.target_bos = 2;
  corpus.target_eos = 3;
  return corpus;
}

}  // namespace

TEST_CASE("a batch packs its sentences in order and puts their ends and beginnings around them") {
  TranslationBatch batch;
  fill_batch(example(), Numbers{2, 0}, batch);
  CHECK(batch.source.tokens == Ids{13, 14, 15, 1, 10, 11, 1});
  CHECK(batch.source.offsets == Numbers{0, 4, 7});
  CHECK(batch.target_input.tokens == Ids{2, 23, 24, 2, 20});
  CHECK(batch.target_output.tokens == Ids{23, 24, 3, 20, 3});
  CHECK(batch.target_input.offsets == Numbers{0, 3, 5});
  CHECK(batch.target_output.offsets == Numbers{0, 3, 5});
  CHECK(batch.sentences == Numbers{2, 0});
  CHECK((batch.size() == 2 && batch.target_tokens() == 5));
}

TEST_CASE("a batch that is filled again keeps nothing of the old one but its memory") {
  TranslationBatch used;
  fill_batch(example(), Numbers{2, 0, 1}, used);
  const auto* const memory = used.source.tokens.data();
  fill_batch(example(), Numbers{1}, used);
  TranslationBatch fresh;
  fill_batch(example(), Numbers{1}, fresh);
  CHECK(used == fresh);
  CHECK(used.source.tokens.data() == memory);
  fill_batch(example(), Numbers{}, used);
  CHECK(used == TranslationBatch{});
}

TEST_CASE("a sentence that the corpus does not have is an error") {
  TranslationBatch batch;
  const auto sentence = GENERATE(index_t{-1}, index_t{3});
  CHECK(weft::testing::message_of<ArgumentError>([&] {
          fill_batch(example(), Numbers{0, sentence}, batch);
        }) == text("fill_batch: there is no sentence ", sentence, " in a corpus of 3"));
}

}  // namespace translation_batch_tests
