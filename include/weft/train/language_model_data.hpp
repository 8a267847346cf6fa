// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a Trainer of language models reads.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/index.hpp>
#include <weft/core/lifetime.hpp>
#include <weft/data/batch_position.hpp>
#include <weft/data/columns.hpp>
#include <weft/device/cpu.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/train/device_batch.hpp>

namespace weft::train {

//! A chunk of a text for strategies: the words read, and the next ones as labels. The batch must
//! outlive it.
class LanguageModelDeviceBatch {
 public:
  //! The batch must outlive it.
  //!
  //! **Errors.** DataError unless there is a next word for each.
  explicit LanguageModelDeviceBatch(const data::LanguageModelBatch& batch WEFT_LIFETIME_BOUND)
      : batch_(&batch) {
    if (batch.input.offsets != batch.output.offsets) {
      throw DataError("a batch: rows of input are not as long as those of output");
    }
  }

  //! How many columns it has.
  [[nodiscard]] index_t size() const { return batch_->size(); }

  //! Differs where words do.
  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint().add(batch_->input.fingerprint()).add(batch_->output.fingerprint()).value();
  }

  //! **Shapes.** TokenSequences of the columns in the range, and a label for each word.
  template <class D>
  [[nodiscard]] parallel::MicroBatch<TokenSequences<D>, D> part(D& device, Range range) const {
    return {to_sequences(device, batch_->input, range),
            to_sequences(device, batch_->output, range).ids};
  }

 private:
  const data::LanguageModelBatch* batch_;
};

static_assert(parallel::Batch<LanguageModelDeviceBatch, Cpu>);

//! The chunks of a text in their order, epoch after epoch.
class ColumnsLoader {
 public:
  //! At most `most` chunks are an epoch; 0 for all. The columns must outlive the loader.
  //!
  //! **Errors.** ArgumentError for a start beyond its epoch's batches.
  ColumnsLoader(const data::Columns& columns, index_t most, data::BatchPosition start)
      : columns_(&columns),
        batches_(most > 0 ? std::min(most, columns.chunks()) : columns.chunks()),
        position_(start) {
    if (start.epoch < 0 || start.batch < 0 || start.batch >= batches_) {
      throw ArgumentError(text("loader: cannot start at batch ", start.batch, " of epoch ",
                               start.epoch, ", which has ", batches_));
    }
  }

  //! Makes `batch` of the next chunk.
  void next(data::LanguageModelBatch& batch) {
    columns_->fill(position_.batch, batch);
    if (++position_.batch == batches_) position_ = {position_.epoch + 1, 0};
  }

  //! The place of the next chunk.
  [[nodiscard]] data::BatchPosition position() const noexcept { return position_; }
  //! Chunks of an epoch.
  [[nodiscard]] index_t batches_in_epoch() const noexcept { return batches_; }

 private:
  const data::Columns* columns_;
  index_t batches_;
  data::BatchPosition position_;
};

//! Texts in columns, of which an epoch reads all chunks or the first ones.
class LanguageModelData {
 public:
  //! What its loaders give.
  using Batch = data::LanguageModelBatch;

  //! The columns must outlive this.
  LanguageModelData(const data::Columns& train, const data::Columns& valid,
                    index_t batches_of_epoch = 0)
      : train_(&train), valid_(&valid), batches_of_epoch_(batches_of_epoch) {}
  //! They would be gone.
  LanguageModelData(const data::Columns&&, const data::Columns&, index_t = 0) = delete;
  LanguageModelData(const data::Columns&, const data::Columns&&, index_t = 0) = delete;

  //! The seed says nothing: a text has one order.
  [[nodiscard]] ColumnsLoader loader(std::uint64_t, data::BatchPosition start) const {
    return {*train_, batches_of_epoch_, start};
  }

  //! Calls `f` with each chunk of the validation text.
  template <class F>
  void for_validation(const F& f) const {
    for_chunks(*valid_, f);
  }

  //! Calls `f` with each chunk of a text.
  template <class F>
  static void for_chunks(const data::Columns& columns, const F& f) {
    Batch batch;
    for (index_t chunk = 0; chunk < columns.chunks(); ++chunk) {
      columns.fill(chunk, batch);
      f(batch);
    }
  }

  //! What strategies take. The batch must outlive it.
  [[nodiscard]] static LanguageModelDeviceBatch on_device(const Batch& batch) {
    return LanguageModelDeviceBatch(batch);
  }

 private:
  const data::Columns* train_;
  const data::Columns* valid_;
  index_t batches_of_epoch_;
};

}  // namespace weft::train
