// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Gives the batches of a corpus, epoch after epoch.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/data/batch_position.hpp>
#include <weft/data/batches.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/prefetcher.hpp>
#include <weft/data/translation_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace weft::data {

namespace detail {

//! A batch and what is known of its epoch.
struct LoadedBatch {
  TranslationBatch batch;
  BatchPosition next;
  index_t batches_in_epoch = 0;
};

//! Makes the batches from a position on, one a call.
class BatchProducer {
 public:
  BatchProducer(const ParallelCorpus& corpus, const BatchRule& rule, std::uint64_t seed,
                BatchPosition start)
      : corpus_(&corpus), rule_(rule), seed_(seed), at_(start) {
    if (corpus.size() == 0) throw DataError("loader: the corpus has no sentences");
    plan_ = plan_batches(corpus, rule, seed, start.epoch);
    if (start.epoch < 0 || start.batch < 0 || start.batch >= std::ssize(plan_)) {
      throw ArgumentError(text("loader: cannot start at batch ", start.batch, " of epoch ",
                               start.epoch, ", which has ", plan_.size()));
    }
  }

  void operator()(LoadedBatch& out) {
    if (at_.batch == std::ssize(plan_)) {
      at_ = {at_.epoch + 1, 0};
      plan_ = plan_batches(*corpus_, rule_, seed_, at_.epoch);
    }
    fill_batch(*corpus_, plan_[static_cast<std::size_t>(at_.batch)], out.batch);
    ++at_.batch;
    out.next = at_.batch < std::ssize(plan_) ? at_ : BatchPosition{at_.epoch + 1, 0};
    out.batches_in_epoch = std::ssize(plan_);
  }

  //! Before any batch: where the first one is.
  [[nodiscard]] LoadedBatch start() const { return {{}, at_, std::ssize(plan_)}; }

 private:
  const ParallelCorpus* corpus_;
  BatchRule rule_;
  std::uint64_t seed_;
  BatchPosition at_;
  BatchPlan plan_;
};

}  // namespace detail

//! The batches of all epochs from a position on, made ahead of time by a thread.
//!
//! A batch is a function of corpus, rule, seed and position: a loader that starts where another
//! stopped goes on with the same bits.
//!
//!     TranslationLoader loader(corpus, {.budget = 4096}, seed);
//!     TranslationBatch batch;
//!     do {
//!       loader.next(batch);
//!       ...
//!     } while (loader.position().batch > 0);  // an epoch
class TranslationLoader {
 public:
  //! The corpus must outlive the loader, which makes at most `ahead` batches before they are
  //! needed.
  //!
  //! **Errors.** DataError for a corpus without sentences; ArgumentError for a start beyond its
  //! epoch's batches, a budget or an `ahead` that is not positive.
  TranslationLoader(const ParallelCorpus& corpus, const BatchRule& rule, std::uint64_t seed,
                    BatchPosition start = {}, index_t ahead = 4)
      : TranslationLoader(detail::BatchProducer(corpus, rule, seed, start), ahead) {}
  TranslationLoader(ParallelCorpus&&, const BatchRule&, std::uint64_t, BatchPosition = {},
                    index_t = 4) = delete;

  //! Replaces `batch` by the one at `position()`. Throws what the thread threw.
  void next(TranslationBatch& batch) {
    prefetcher_.next(loaded_);
    std::swap(batch, loaded_.batch);
  }

  //! Where `next` goes on: batch 0 of the next epoch after the last one of an epoch.
  [[nodiscard]] BatchPosition position() const noexcept { return loaded_.next; }

  //! How many batches the epoch has of which the last batch was; before that, the first epoch.
  [[nodiscard]] index_t batches_in_epoch() const noexcept { return loaded_.batches_in_epoch; }

 private:
  TranslationLoader(detail::BatchProducer producer, index_t ahead)
      : loaded_(producer.start()), prefetcher_(std::move(producer), ahead) {}

  detail::LoadedBatch loaded_;
  Prefetcher<detail::LoadedBatch> prefetcher_;
};

}  // namespace weft::data
