// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Brings parts of a batch of sentences to a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>
#include <weft/core/lifetime.hpp>
#include <weft/data/token_rows.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::train {

namespace detail {

//! Where the last of some token rows ends, or 0 if they say nothing.
[[nodiscard]] inline index_t end_of(const data::TokenRows& rows) noexcept {
  return rows.offsets.empty() ? 0 : rows.offsets.back();
}

}  // namespace detail

//! Rows `range` of token rows on a device; their random numbers are keyed by the row's number.
//!
//! **Errors.** DataError unless there are these rows and all their tokens, and no tokens behind the
//! last row; ShapeError for a row that ends before it begins.
template <class D>
[[nodiscard]] TokenSequences<D> to_sequences(D& device, const data::TokenRows& rows, Range range) {
  const index_t tokens_known = std::ssize(rows.tokens);
  if (range.begin < 0 || range.begin > range.end || range.end > rows.size() ||
      detail::end_of(rows) != tokens_known) {
    throw DataError(text("rows ", range.begin, " to ", range.end - 1, " of token rows: there are ",
                         std::max(rows.size(), index_t{0}), ", which end at token ",
                         detail::end_of(rows), " of ", tokens_known));
  }
  std::vector<index_t> lengths;
  lengths.reserve(static_cast<std::size_t>(range.size()));
  for (index_t row = range.begin; row < range.end; ++row) lengths.push_back(rows.length(row));
  const index_t first = rows.offsets[static_cast<std::size_t>(range.begin)];
  const index_t last = rows.offsets[static_cast<std::size_t>(range.end)];
  if (first < 0 || first > last || last > tokens_known) {
    throw DataError(text("rows ", range.begin, " to ", range.end - 1,
                         " of token rows: they begin at token ", first, " and end at token ", last,
                         " of ", tokens_known));
  }
  const auto tokens =
      std::span(rows.tokens)
          .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  return {to_device<token_t>(device, tokens, {last - first}),
          make_layout<D>(device, lengths, static_cast<std::uint32_t>(range.begin))};
}

//! A batch of sentences as strategies take it. It refers to the batch, which must outlive it.
class DeviceBatch {
 public:
  //! The batch must outlive it.
  //!
  //! **Errors.** DataError unless sources, inputs and outputs have a row for each sentence, and
  //! inputs as many words as outputs in each.
  explicit DeviceBatch(const data::TranslationBatch& batch WEFT_LIFETIME_BOUND) : batch_(&batch) {
    for (const auto& [name, rows] :
         {std::pair("source", &batch.source), std::pair("target_input", &batch.target_input),
          std::pair("target_output", &batch.target_output)}) {
      const index_t end = detail::end_of(*rows);
      if (rows->size() != batch.size() || end != std::ssize(rows->tokens)) {
        throw DataError(text("a batch of ", batch.size(), " sentences: ", name, " has ",
                             std::max(rows->size(), index_t{0}), " rows that end at word ", end,
                             " of ", rows->tokens.size()));
      }
    }
    if (batch.target_input.offsets != batch.target_output.offsets) {
      throw DataError("a batch: rows of target_input are not as long as those of target_output");
    }
  }

  //! How many sentences it has.
  [[nodiscard]] index_t size() const { return batch_->size(); }

  //! Differs where words do.
  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint()
        .add(batch_->source.fingerprint())
        .add(batch_->target_input.fingerprint())
        .add(batch_->target_output.fingerprint())
        .value();
  }

  //! Sentences `range` on a device: what the model reads, and a label for each target token.
  template <class D>
  [[nodiscard]] parallel::MicroBatch<nn::TranslationInput<D>, D> part(D& device,
                                                                      Range range) const {
    return {{to_sequences(device, batch_->source, range),
             to_sequences(device, batch_->target_input, range)},
            to_sequences(device, batch_->target_output, range).ids};
  }

 private:
  const data::TranslationBatch* batch_;
};

static_assert(parallel::Batch<DeviceBatch, Cpu>);

}  // namespace weft::train
