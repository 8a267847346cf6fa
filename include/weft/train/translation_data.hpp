// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a Trainer of translation models reads.
#pragma once

#include <cstdint>

#include <weft/core/error.hpp>
#include <weft/data/batches.hpp>
#include <weft/data/loader.hpp>
#include <weft/data/parallel_corpus.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/train/device_batch.hpp>

namespace weft::train {

//! Corpora of sentences with their translations, and how they are cut into batches.
class TranslationData {
 public:
  //! What its loaders give.
  using Batch = data::TranslationBatch;

  //! The corpora must outlive this. **Errors.** DataError if nothing is to be validated.
  TranslationData(const data::ParallelCorpus& train, const data::ParallelCorpus& valid,
                  const data::BatchRule& rule)
      : train_(&train), valid_(&valid), rule_(rule) {
    if (valid.size() == 0) throw DataError("trainer: the validation set has no sentences");
  }
  //! They would be gone.
  TranslationData(const data::ParallelCorpus&&, const data::ParallelCorpus&,
                  const data::BatchRule&) = delete;
  TranslationData(const data::ParallelCorpus&, const data::ParallelCorpus&&,
                  const data::BatchRule&) = delete;

  //! Batches to train on, in the order of a seed.
  [[nodiscard]] data::TranslationLoader loader(std::uint64_t seed,
                                               data::BatchPosition start) const {
    return {*train_, rule_, seed, start};
  }

  //! Calls `f` with each batch of the validation set.
  template <class F>
  void for_validation(const F& f) const {
    Batch batch;
    for (const auto& sentences : data::plan_batches(*valid_, rule_, 0, 0)) {
      data::fill_batch(*valid_, sentences, batch);
      f(batch);
    }
  }

  //! What strategies take. The batch must outlive it.
  [[nodiscard]] static DeviceBatch on_device(const Batch& batch) { return DeviceBatch(batch); }

 private:
  const data::ParallelCorpus* train_;
  const data::ParallelCorpus* valid_;
  data::BatchRule rule_;
};

}  // namespace weft::train
