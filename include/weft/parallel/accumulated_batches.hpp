// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Updates that are made of several batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/parallel/given_batches.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>

namespace weft::parallel {

//! What a strategy knows of the batches of one update: `accumulate` adds all but the last, `step`
//! the last.
class AccumulatedBatches {
 public:
  //! A batch's turn. When it ends without `keep`, all batches are forgotten: the update is made, or
  //! has failed.
  class Turn {
   public:
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (kept_) return;
      batches_->count_ = 0;
      batches_->losses_.clear();
      batches_->given_ = {};
    }

    //! Whether it is the update's first batch.
    [[nodiscard]] bool is_first() const { return number_ == 0; }

    //! Of the random numbers of this batch, in the update that follows `steps` others.
    [[nodiscard]] RandomKey key(std::uint64_t seed, index_t steps) const {
      constexpr int most_updates = 40;  // as a power of two
      return RandomKey(seed, static_cast<std::uint64_t>(steps) +
                                 (static_cast<std::uint64_t>(number_) << most_updates));
    }

    //! For the losses of this batch's micro-batches.
    [[nodiscard]] std::span<LossSum> losses() const {
      return std::span(batches_->losses_).last(static_cast<std::size_t>(micro_batches_));
    }
    //! The losses of the update's micro-batches so far, in their order.
    [[nodiscard]] std::span<LossSum> all_losses() const { return batches_->losses_; }

    //! The batches of the update so far, for ranks that compare them: a strategy adds each.
    [[nodiscard]] GivenBatches& given() const { return batches_->given_; }

    //! Another batch of the update follows.
    void keep() { kept_ = true; }

   private:
    friend AccumulatedBatches;
    Turn(AccumulatedBatches& batches, index_t micro_batches)
        : batches_(&batches), micro_batches_(micro_batches), number_(batches.count_++) {
      batches.losses_.resize(batches.losses_.size() + static_cast<std::size_t>(micro_batches));
    }

    AccumulatedBatches* batches_;
    index_t micro_batches_;
    index_t number_;
    bool kept_ = false;
  };

  //! The next batch's turn, in a state that was loaded `loads` times: what was accumulated before
  //! it was loaded is forgotten.
  [[nodiscard]] Turn begin(const Recipe& recipe, index_t loads) {
    if (loads != loads_) *this = {};
    loads_ = loads;
    return Turn(*this, recipe.micro_batches);
  }

 private:
  index_t loads_ = 0;
  index_t count_ = 0;
  std::vector<LossSum> losses_;
  GivenBatches given_;
};

//! The sum of the losses of micro-batches, in their order.
[[nodiscard]] inline LossSum total(std::span<const LossSum> losses) {
  return std::accumulate(losses.begin(), losses.end(), LossSum{},
                         [](LossSum sum, const LossSum& loss) { return sum += loss; });
}

}  // namespace weft::parallel
