// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The canonical order of a gradient's sum: left folds in lanes, and a tree across them.
//!
//! With s = 1, 2, 4, ... lane l gets the sum of lane l + s for every l that is a multiple of 2 s. A
//! device that owns neighbouring lanes may add some of these pairs early; they are the same pairs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>

namespace weft::parallel {

//! Calls `add(l, l + s)` for the pairs of the tree over lanes 0 to `lanes` - 1 whose right side is
//! still there: `present(l)`.
template <class Present, class Add>
void for_tree_pairs(index_t lanes, Present present, Add add) {
  for (index_t step = 1; step < lanes; step *= 2) {
    for (index_t left = 0; left + step < lanes; left += 2 * step) {
      if (present(left + step)) add(left, left + step);
    }
  }
}

//! One device's part in an update: it runs some lanes and keeps their gradients.
//!
//! Of neighbouring lanes it keeps as few buffers as the tree allows: one if it has one lane, and at
//! most log2(n) + 1 of n lanes.
template <class Objective, class D>
class LaneRunner {
 public:
  LaneRunner(D& device, const Objective& objective) : device_(&device), objective_(&objective) {}

  //! Runs `lanes` of the recipe on a batch: forward and backward for each of their micro-batches.
  //!
  //! Puts the loss of micro-batch m into losses[m]. Afterwards `gradients(l)` is not null for the
  //! lanes whose sums were not yet added to others.
  template <class B>
  void run(const Recipe& recipe, Range lanes, const B& batch, const float* values, RandomKey key,
           std::vector<LossSum>& losses) {
    release_all();
    lanes_ = lanes;
    sums_.resize(static_cast<std::size_t>(lanes.size()));
    for (index_t lane = lanes.begin; lane < lanes.end; ++lane) {
      run_lane(recipe, lane, batch, values, key, losses);
      add_finished_pairs(lane);
    }
  }

  //! The sum of gradients that lane l holds, or null.
  [[nodiscard]] float* gradients(index_t lane) const {
    if (lane < lanes_.begin || lane >= lanes_.end) return nullptr;
    const auto& sum = sums_[static_cast<std::size_t>(lane - lanes_.begin)];
    return sum == nullptr ? nullptr : sum->data();
  }

  //! The loss of a batch in evaluation mode, micro-batch by micro-batch of the range.
  template <class B>
  void evaluate(const Recipe& recipe, Range micro_batches, const B& batch, const float* values,
                std::vector<LossSum>& losses) {
    for (index_t m = micro_batches.begin; m < micro_batches.end; ++m) {
      const Range range = share(batch.size(), recipe.micro_batches, m);
      if (range.size() == 0) continue;
      nn::Context<D> ctx(*device_, values);
      losses[static_cast<std::size_t>(m)] =
          objective_->forward(ctx, batch.part(*device_, range)).output;
    }
  }

 private:
  using Gradients = nn::Gradients<D>;

  template <class B>
  void run_lane(const Recipe& recipe, index_t lane, const B& batch, const float* values,
                RandomKey key, std::vector<LossSum>& losses) {
    auto sum = acquire();
    sum->begin();
    const Range micro_batches = share(recipe.micro_batches, recipe.lanes, lane);
    for (index_t m = micro_batches.begin; m < micro_batches.end; ++m) {
      const Range range = share(batch.size(), recipe.micro_batches, m);
      if (range.size() == 0) continue;
      nn::Context<D> ctx(*device_, values, *sum, key);
      auto [loss, saved] = objective_->forward(ctx, batch.part(*device_, range));
      objective_->backward(ctx, std::move(saved));
      losses[static_cast<std::size_t>(m)] = loss;
    }
    sum->end(objective_->layout());
    sums_[static_cast<std::size_t>(lane - lanes_.begin)] = std::move(sum);
  }

  //! Adds the pairs of the tree that lane `lane` completes, as far as both sides are here.
  void add_finished_pairs(index_t lane) {
    for (index_t step = 1; (lane + 1) % (2 * step) == 0; step *= 2) {
      const index_t left = lane + 1 - 2 * step;
      if (left < lanes_.begin) return;
      auto& right = sums_[static_cast<std::size_t>(left + step - lanes_.begin)];
      const index_t n = objective_->layout().gradients;
      ops::add_blocks(*device_, n, 0, ops::block_count(n), right->data(), gradients(left));
      free_.push_back(std::move(right));
    }
  }

  std::unique_ptr<Gradients> acquire() {
    if (free_.empty()) return std::make_unique<Gradients>(*device_, objective_->layout());
    auto gradients = std::move(free_.back());
    free_.pop_back();
    return gradients;
  }

  void release_all() {
    for (auto& sum : sums_) {
      if (sum != nullptr) free_.push_back(std::move(sum));
    }
    sums_.clear();
  }

  D* device_;
  const Objective* objective_;
  Range lanes_;
  std::vector<std::unique_ptr<Gradients>> sums_;  // of lanes_
  std::vector<std::unique_ptr<Gradients>> free_;
};

}  // namespace weft::parallel
