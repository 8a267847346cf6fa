// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/batches.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace batches_tests {

using namespace weft;
using namespace weft::data;

namespace {

using Lengths = std::vector<std::pair<index_t, index_t>>;

//! A corpus of sentences with these source and target lengths, ends included.
ParallelCorpus corpus_of(const Lengths& lengths) {
  ParallelCorpus corpus;
  for (const auto& [source, target] : lengths) {
    corpus.source.tokens.resize(corpus.source.tokens.size() + static_cast<std::size_t>(source - 1));
    corpus.source.end_row();
    corpus.target.tokens.resize(corpus.target.tokens.size() + static_cast<std::size_t>(target - 1));
    corpus.target.end_row();
  }
  return corpus;
}

//! `count` sentences of 2 to 50 tokens, their translations of about the same length.
ParallelCorpus mixed_corpus(int count) {
  Lengths lengths;
  SplitMix64 random(1);
  for (int i = 0; i < count; ++i) {
    const auto source = 2 + random.below(49);
    lengths.emplace_back(source, std::max(index_t{2}, source + random.below(7) - 3));
  }
  return corpus_of(lengths);
}

index_t units(const ParallelCorpus& corpus, BatchUnit unit, const std::vector<index_t>& batch) {
  if (unit == BatchUnit::sentences) return std::ssize(batch);
  index_t longest = 0;
  index_t targets = 0;
  for (const auto sentence : batch) {
    longest = std::max({longest, corpus.source_length(sentence), corpus.target_length(sentence)});
    targets += corpus.target_length(sentence);
  }
  return unit == BatchUnit::padded_tokens ? longest * std::ssize(batch) : targets;
}

}  // namespace

TEST_CASE("plans are those of the reference, tests/reference/batches.py, on every platform") {
  Lengths lengths;
  for (index_t n = 0; n < 12; ++n) lengths.emplace_back(2 + 7 * n % 5, 2 + 5 * n % 7);
  const auto corpus = corpus_of(lengths);
  const BatchRule sentences{BatchUnit::sentences, 5, false};
  CHECK(plan_batches(corpus, sentences, 42, 0) ==
        BatchPlan{{10, 1, 0, 3, 11}, {6, 5, 9, 4, 2}, {8, 7}});
  CHECK(plan_batches(corpus, sentences, 42, 1) ==
        BatchPlan{{0, 10, 3, 8, 5}, {1, 11}, {4, 9, 7, 2, 6}});
  const BatchRule padded{BatchUnit::padded_tokens, 20, true};
  CHECK(plan_batches(corpus, padded, 42, 0) ==
        BatchPlan{{8, 3}, {9, 11}, {6, 1}, {0, 5, 10}, {4, 7}, {2}});
  CHECK(plan_batches(corpus, padded, 42, 1) ==
        BatchPlan{{2}, {10, 0, 5}, {4, 7}, {1, 6}, {11, 9}, {8, 3}});
  const BatchRule targets{BatchUnit::target_tokens, 20, true};
  CHECK(plan_batches(corpus, targets, 42, 0) ==
        BatchPlan{{11, 9}, {10, 5, 3, 0}, {4, 2, 7}, {8, 1, 6}});
  CHECK(plan_batches(corpus, targets, 42, 1) ==
        BatchPlan{{11, 9}, {10, 0, 3, 5}, {6, 1, 8}, {7, 2, 4}});
}

TEST_CASE("every sentence is in one batch of an epoch, and no batch exceeds the budget") {
  const auto unit =
      GENERATE(BatchUnit::sentences, BatchUnit::padded_tokens, BatchUnit::target_tokens);
  const auto by_length = GENERATE(true, false);
  const auto count = GENERATE(0, 1, 2, 31, 2000);
  const auto corpus = mixed_corpus(count);
  const index_t budget = 60;
  const auto plan = plan_batches(corpus, {unit, budget, by_length}, 9, 4);
  std::vector<int> seen(static_cast<std::size_t>(count));
  for (const auto& batch : plan) {
    CHECK(!batch.empty());
    CHECK(units(corpus, unit, batch) <= budget);
    for (const auto sentence : batch) ++seen.at(static_cast<std::size_t>(sentence));
  }
  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
}

TEST_CASE("a sentence beyond the budget is a batch of its own") {
  const auto corpus = corpus_of({{2, 2}, {99, 2}, {2, 99}, {2, 2}, {2, 2}});
  auto plan = plan_batches(corpus, {BatchUnit::padded_tokens, 20, true}, 1, 0);
  for (auto& batch : plan) std::ranges::sort(batch);
  std::ranges::sort(plan);
  CHECK(plan == BatchPlan{{0, 3, 4}, {1}, {2}});
}

TEST_CASE("sorting by length leaves little padding, and its absence leaves much") {
  const auto corpus = mixed_corpus(2000);
  const auto padding = [&](bool by_length) {
    index_t padded = 0;
    index_t real = 0;
    for (const auto& batch :
         plan_batches(corpus, {BatchUnit::padded_tokens, 500, by_length}, 1, 0)) {
      padded += units(corpus, BatchUnit::padded_tokens, batch);
      real += units(corpus, BatchUnit::target_tokens, batch);
    }
    return 1 - static_cast<double>(real) / static_cast<double>(padded);
  };
  CHECK(padding(true) < 0.15);
  CHECK(padding(false) > 0.3);
}

TEST_CASE(
    "seeds and epochs change the order and the company of a sentence, and nothing else does") {
  const auto corpus = mixed_corpus(500);
  const BatchRule rule{BatchUnit::target_tokens, 100, true};
  const auto plan = plan_batches(corpus, rule, 1, 0);
  CHECK(plan_batches(corpus, rule, 1, 0) == plan);
  const auto company = [](const BatchPlan& some) {
    std::set<std::set<index_t>> batches;
    for (const auto& batch : some) batches.emplace(batch.begin(), batch.end());
    return batches;
  };
  CHECK(company(plan_batches(corpus, rule, 1, 1)) != company(plan));
  CHECK(company(plan_batches(corpus, rule, 2, 0)) != company(plan));
}

TEST_CASE("batches come in no order of length, and neither do the sentences of one") {
  Lengths lengths;
  for (index_t n = 2; n < 1002; ++n) lengths.emplace_back(n, n);
  const auto corpus = corpus_of(lengths);
  // In rising order the first half has a quarter of the tokens; in random order a half, with a
  // standard deviation of 0.009.
  const auto share_of_first_half = [&](const std::vector<index_t>& sentences) {
    index_t first = 0;
    for (std::size_t at = 0; at < sentences.size() / 2; ++at) {
      first += corpus.target_length(sentences[at]);
    }
    return static_cast<double>(first) / static_cast<double>(std::ssize(corpus.target.tokens));
  };
  const auto together = plan_batches(corpus, {BatchUnit::sentences, 1000, true}, 5, 0);
  REQUIRE(together.size() == 1);
  CHECK(share_of_first_half(together[0]) == Approx(0.5).margin(0.05));
  std::vector<index_t> in_plan_order;
  for (const auto& batch : plan_batches(corpus, {BatchUnit::sentences, 4, true}, 5, 0)) {
    in_plan_order.insert(in_plan_order.end(), batch.begin(), batch.end());
  }
  CHECK(share_of_first_half(in_plan_order) == Approx(0.5).margin(0.05));
}

TEST_CASE("a budget without room is an error") {
  CHECK(weft::testing::message_of<ArgumentError>([] {
          return plan_batches(ParallelCorpus{}, {BatchUnit::sentences, 0, true}, 1, 0);
        }) == "plan_batches: the budget is 0");
}

}  // namespace batches_tests
