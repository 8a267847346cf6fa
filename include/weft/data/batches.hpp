// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Plans which sentences of a corpus go into which batch of an epoch.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/shuffle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace weft::data {

//! What a batch's budget counts.
enum class BatchUnit {
  sentences,
  padded_tokens,  //!< Sentences times the longest row of either side: what fairseq's max_tokens is.
  target_tokens,  //!< Real target tokens: what weft computes, since it packs rows without padding.
};

//! How to make batches.
struct BatchRule {
  BatchUnit unit = BatchUnit::target_tokens;  //!< what `budget` counts
  index_t budget = 4096;                      //!< the most of it in a batch
  bool by_length = true;  //!< Sentences of like length go together, which padding alone needs.
};

//! The sentences of each batch.
using BatchPlan = std::vector<std::vector<index_t>>;

namespace detail {

//! What a batch takes as it grows.
struct BatchSize {
  index_t sentences = 0;
  index_t longest = 0;
  index_t target_tokens = 0;

  [[nodiscard]] BatchSize with(index_t source_length, index_t target_length) const {
    return {sentences + 1, std::max({longest, source_length, target_length}),
            target_tokens + target_length};
  }

  [[nodiscard]] index_t in(BatchUnit unit) const {
    switch (unit) {
      case BatchUnit::padded_tokens:
        return sentences * longest;
      case BatchUnit::target_tokens:
        return target_tokens;
      default:
        return sentences;
    }
  }
};

}  // namespace detail

//! Deals the sentences of a corpus, each exactly once, into batches of at most `rule.budget` units.
//!
//! The sentences are shuffled; by length, they are then sorted by source and target length, so that
//! only those of the same two lengths stay in random order. Batches are filled one after the other,
//! each as far as the budget goes. Last, the batches are shuffled, and each batch in itself: then
//! the contiguous parts into which devices split it have about equal work.
//!
//! A sentence that alone exceeds the budget is a batch of its own: how long sentences may be is
//! said once, by LengthLimit. The plan is a function of the arguments alone, on every platform.
//!
//! **Errors.** ArgumentError unless the budget is positive.
//! **Source.** fairseq's LanguagePairDataset.ordered_indices and batch_by_size for the order and
//! padded_tokens; not its rounding down to multiples of 8 sentences.
[[nodiscard]] inline BatchPlan plan_batches(const ParallelCorpus& corpus, const BatchRule& rule,
                                            std::uint64_t seed, index_t epoch) {
  if (rule.budget < 1) throw ArgumentError(text("plan_batches: the budget is ", rule.budget));
  auto random = SplitMix64::keyed({seed, static_cast<std::uint64_t>(epoch)});

  std::vector<index_t> order(static_cast<std::size_t>(corpus.size()));
  std::iota(order.begin(), order.end(), index_t{0});
  shuffle(std::span(order), random);
  if (rule.by_length) {
    const auto lengths = [&](index_t sentence) {
      return std::pair(corpus.source_length(sentence), corpus.target_length(sentence));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](index_t left, index_t right) { return lengths(left) < lengths(right); });
  }

  BatchPlan plan;
  detail::BatchSize size;
  for (const index_t sentence : order) {
    const auto source_length = corpus.source_length(sentence);
    const auto target_length = corpus.target_length(sentence);
    size = size.with(source_length, target_length);
    if (plan.empty() || size.in(rule.unit) > rule.budget) {
      plan.emplace_back();
      size = detail::BatchSize{}.with(source_length, target_length);
    }
    plan.back().push_back(sentence);
  }

  shuffle(std::span(plan), random);
  for (auto& batch : plan) shuffle(std::span(batch), random);
  return plan;
}

}  // namespace weft::data
