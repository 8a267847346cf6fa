// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A batch for language models.
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/train/device_batch.hpp>

#include <cstdint>

namespace weft::testing {

//! The target's words, each to be told from those before it.
class WordsBatch {
 public:
  explicit WordsBatch(const data::TranslationBatch& batch) : batch_(&batch) {}

  [[nodiscard]] index_t size() const { return batch_->size(); }
  [[nodiscard]] std::uint64_t fingerprint() const {
    return train::DeviceBatch(*batch_).fingerprint();
  }

  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D> part(D& device, Range range) const {
    return {train::to_sequences(device, batch_->target_input, range),
            train::to_sequences(device, batch_->target_output, range).ids};
  }

 private:
  const data::TranslationBatch* batch_;
};

}  // namespace weft::testing
