// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A batch for models that write a row for each word they read.
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/device/cpu.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/train/device_batch.hpp>

#include <cstdint>

namespace weft::testing {

//! The source's words, each its own label.
struct SourceWords {
  data::TranslationBatch batch;

  [[nodiscard]] index_t size() const { return batch.size(); }
  [[nodiscard]] std::uint64_t fingerprint() const { return batch.source.fingerprint(); }
  [[nodiscard]] parallel::MicroBatch<TokenSequences<Cpu>, Cpu> part(Cpu& device,
                                                                    Range range) const {
    auto input = train::to_sequences(device, batch.source, range);
    return {input, input.ids};
  }
};

}  // namespace weft::testing
