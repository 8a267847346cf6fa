// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/loader.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <vector>

namespace loader_tests {

using namespace weft;
using namespace weft::data;
using weft::testing::message_of;

// A loader would outlive a corpus that is only made for the call.
static_assert(std::is_constructible_v<TranslationLoader, const ParallelCorpus&, BatchRule, int>);
static_assert(!std::is_constructible_v<TranslationLoader, ParallelCorpus, BatchRule, int>);

namespace {

//! `count` sentences whose words tell them apart.
ParallelCorpus corpus_of(int count) {
  ParallelCorpus corpus;
  for (int n = 0; n < count; ++n) {
    corpus.source.tokens.insert(corpus.source.tokens.end(), static_cast<std::size_t>(1 + n % 5), n);
    corpus.source.end_row();
    corpus.target.tokens.insert(corpus.target.tokens.end(), static_cast<std::size_t>(1 + n % 7), n);
    corpus.target.end_row();
  }
  corpus.source_eos = 1000;
  corpus.target_bos = 1001;
  corpus.target_eos = 1002;
  return corpus;
}

const BatchRule rule{BatchUnit::target_tokens, 40, true};

}  // namespace

TEST_CASE("a loader gives the planned batches of one epoch after the other") {
  const auto corpus = corpus_of(50);
  TranslationLoader loader(corpus, rule, 7);
  TranslationBatch batch;
  for (index_t epoch = 0; epoch < 3; ++epoch) {
    const auto plan = plan_batches(corpus, rule, 7, epoch);
    for (std::size_t at = 0; at < plan.size(); ++at) {
      CHECK(loader.position() == BatchPosition{epoch, static_cast<index_t>(at)});
      loader.next(batch);
      TranslationBatch expected;
      fill_batch(corpus, plan[at], expected);
      CHECK(batch == expected);
      CHECK(loader.batches_in_epoch() == std::ssize(plan));
    }
    CHECK(loader.position() == BatchPosition{epoch + 1, 0});
  }
}

TEST_CASE("every sentence comes once an epoch") {
  const auto corpus = corpus_of(101);
  TranslationLoader loader(corpus, rule, 3, {5, 0});
  std::vector<index_t> seen;
  TranslationBatch batch;
  do {
    loader.next(batch);
    seen.insert(seen.end(), batch.sentences.begin(), batch.sentences.end());
  } while (loader.position().batch > 0);
  std::ranges::sort(seen);
  std::vector<index_t> all(101);
  for (index_t n = 0; n < 101; ++n) all[static_cast<std::size_t>(n)] = n;
  CHECK(seen == all);
}

TEST_CASE("a loader that starts where another stopped goes on with the same batches") {
  const auto corpus = corpus_of(50);
  TranslationLoader unbroken(corpus, rule, 7);
  TranslationBatch expected;
  TranslationBatch resumed;
  for (int step = 0; step < 25; ++step) {
    const auto ahead = 1 + step % 3;
    TranslationLoader loader(corpus, rule, 7, unbroken.position(), ahead);
    CHECK(loader.position() == unbroken.position());
    unbroken.next(expected);
    loader.next(resumed);
    CHECK(resumed == expected);
    CHECK(loader.position() == unbroken.position());
  }
  CHECK(unbroken.position().epoch > 1);
}

TEST_CASE("before the first batch a loader knows how many its epoch has") {
  const auto corpus = corpus_of(50);
  CHECK(TranslationLoader(corpus, rule, 7, {2, 1}).batches_in_epoch() ==
        std::ssize(plan_batches(corpus, rule, 7, 2)));
}

TEST_CASE("an empty corpus or a start that does not exist is an error at once") {
  const auto corpus = corpus_of(2);
  const auto empty = corpus_of(0);
  CHECK(message_of<DataError>([&] { TranslationLoader(empty, rule, 7); }) ==
        "loader: the corpus has no sentences");
  CHECK(message_of<ArgumentError>([&] {
          TranslationLoader(corpus, rule, 7, {3, 1});
        }) == "loader: cannot start at batch 1 of epoch 3, which has 1");
  CHECK(message_of<ArgumentError>([&] {
          TranslationLoader(corpus, rule, 7, {0, -1});
        }) == "loader: cannot start at batch -1 of epoch 0, which has 1");
  CHECK(message_of<ArgumentError>([&] {
          TranslationLoader(corpus, rule, 7, {-1, 0});
        }) == "loader: cannot start at batch 0 of epoch -1, which has 1");
  CHECK(message_of<ArgumentError>([&] { TranslationLoader(corpus, rule, 7, {}, 0); }) ==
        "prefetcher: its depth is 0");
}

}  // namespace loader_tests
