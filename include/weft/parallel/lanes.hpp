// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The canonical order of a gradient's sum: left folds in lanes, and a tree across them.
//!
//! With s = 1, 2, 4, ... lane l gets the sum of lane l + s for every l that is a multiple of 2 s. A
//! device that owns neighbouring lanes may add some of these pairs early; they are the same pairs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>
#include <weft/core/tree_pairs.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/gradients.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/nn/units.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/parallel/expect_gradients.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/rethrow_with_module.hpp>
#include <weft/parallel/rounded_weights.hpp>

namespace weft::parallel {

//! Whether the sum of lane l is kept apart by who runs `lanes`: it is unless the tree adds it to
//! another of these lanes, with nothing of a lane outside.
constexpr bool is_held(index_t lane, Range lanes) {
  const index_t step = lane & -lane;  // l is added to l - step, once it holds l to l + step - 1
  return lane == 0 || lane - step < lanes.begin || lane + step > lanes.end;
}

//! The lanes whose sums are kept apart, in order: at most log2(n) + 1 for aligned lanes.
[[nodiscard]] inline std::vector<index_t> held_lanes(Range lanes) {
  std::vector<index_t> held;
  for (index_t lane = lanes.begin; lane < lanes.end; ++lane) {
    if (is_held(lane, lanes)) held.push_back(lane);
  }
  return held;
}

//! Hears of each pass over a micro-batch, and of the units that it works on.
class PassObserver : public nn::UnitObserver {
 public:
  //! A pass over a micro-batch begins.
  virtual void begin_pass(nn::Mode mode) = 0;
};

//! One device's part in an update: it runs some lanes and keeps their gradients.
//!
//! Of neighbouring lanes it keeps as few buffers as the tree allows: one if it has one lane, and at
//! most log2(n) + 1 of n lanes.
//!
//! **Errors.** What a pass throws; a NotFiniteError says in which module.
template <class Objective, class D>
class LaneRunner {
 public:
  //! Both must outlive it.
  //! `gradients_go`: whether somebody discards gradients before the update ends.
  LaneRunner(D& device, const Objective& objective, bool gradients_go = false)
      : device_(&device), objective_(&objective), gradients_go_(gradients_go) {}

  //! Hears of every pass and of the units it works on. It outlives the runner.
  void watch(PassObserver& observer) { observer_ = &observer; }

  //! How many passes `run` makes of a batch: one for each micro-batch that gets a part of it.
  [[nodiscard]] static index_t passes(const Recipe& recipe, Range lanes, index_t sentences) {
    index_t count = 0;
    for (index_t lane = lanes.begin; lane < lanes.end; ++lane) {
      const Range micro_batches = share(recipe.micro_batches, recipe.lanes, lane);
      count += evaluation_passes(recipe, micro_batches, sentences);
    }
    return count;
  }
  //! How many passes `evaluate` makes.
  [[nodiscard]] static index_t evaluation_passes(const Recipe& recipe, Range micro_batches,
                                                 index_t sentences) {
    index_t count = 0;
    for (index_t m = micro_batches.begin; m < micro_batches.end; ++m) {
      if (share(sentences, recipe.micro_batches, m).size() > 0) ++count;
    }
    return count;
  }

  //! Hears, in the last backward pass, that the sums are complete at a place of the gradients.
  using Ready = std::function<void(int slot)>;

  //! Runs `lanes` of the recipe on a batch: forward and backward for each of their micro-batches.
  //!
  //! `rounded`: the values as the device's products read them, where somebody has them.
  //!
  //! Puts the loss of micro-batch m into losses[m]. Afterwards `gradients(l)` is not null for the
  //! lanes that are held apart, times `loss_scale`. `ready(slot)` is called once for each place of
  //! a gradient, as soon as the sums that are held are complete there. Unless it is the update's
  //! first batch, gradients are added to those that `accumulate` left.
  template <class B>
  void run(const Recipe& recipe, Range lanes, const B& batch, bool is_first, const float* values,
           RandomKey key, std::span<LossSum> losses, double loss_scale = 1.0,
           const Ready& ready = {}, const ops::Factor<D>& rounded = {}) try {
    if (is_first) forget(lanes);
    loss_scale_ = static_cast<float>(loss_scale);
    const auto weights = round_weights(values, rounded);
    LaterLosses<B> later(losses);
    for (index_t lane = lanes.begin; lane < lanes.end; ++lane) {
      if (at(lane) == nullptr) at(lane) = acquire();
      if (ready && lane + 1 == lanes.end) {
        run_lane(recipe, lane, batch, values, weights, key, later, [&, lane](int slot) {
          const auto [offset, size] = layout().slots[static_cast<std::size_t>(slot)];
          add_finished_pairs(lane, offset, size);
          ready(slot);
        });
      } else {
        run_lane(recipe, lane, batch, values, weights, key, later, {});
        add_finished_pairs(lane, 0, layout().gradients);
      }
      for (index_t added = lanes.begin; added <= lane; ++added) {
        if (at(added) != nullptr && !is_held(added, {lanes.begin, lane + 1})) {
          free_.push_back(std::move(at(added)));
        }
      }
    }
    later.wait();
  } catch (const ops::NotFiniteError& error) {
    rethrow_with_module(*objective_, error);
  }

  //! Runs `lanes` on a batch that is not the update's last, and keeps the sum of every lane.
  template <class B>
  void accumulate(const Recipe& recipe, Range lanes, const B& batch, bool is_first,
                  const float* values, RandomKey key, std::span<LossSum> losses,
                  double loss_scale = 1.0, const ops::Factor<D>& rounded = {}) try {
    if (is_first) forget(lanes);
    loss_scale_ = static_cast<float>(loss_scale);
    const auto weights = round_weights(values, rounded);
    LaterLosses<B> later(losses);
    for (index_t lane = lanes.begin; lane < lanes.end; ++lane) {
      if (at(lane) == nullptr) at(lane) = acquire();
      run_micro_batches(recipe, lane, batch, values, weights, key, later, {});
    }
    later.wait();
  } catch (const ops::NotFiniteError& error) {
    rethrow_with_module(*objective_, error);
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
                std::span<LossSum> losses, const ops::Factor<D>& rounded = {}) try {
    const auto weights = round_weights(values, rounded);
    for (index_t m = micro_batches.begin; m < micro_batches.end; ++m) {
      const Range range = share(batch.size(), recipe.micro_batches, m);
      if (range.size() == 0) continue;
      if (observer_ != nullptr) observer_->begin_pass(nn::Mode::evaluate);
      nn::Context<D> ctx(*device_, values, observer_);
      ctx.read_weights(weights);
      const TraceSpan span(*device_, "evaluate", m);
      losses[static_cast<std::size_t>(m)] =
          objective_->forward(ctx, batch.part(*device_, range)).output;
    }
  } catch (const ops::NotFiniteError& error) {
    rethrow_with_module(*objective_, error);
  }

 private:
  using Gradients = nn::Gradients<D>;

  //! The losses of a batch's micro-batches, which nobody waits for until the last is under way.
  template <class B>
  class LaterLosses {
   public:
    explicit LaterLosses(std::span<LossSum> losses) : losses_(losses) {}

    template <class L>
    void put(index_t micro_batch, L&& loss) {
      later_.emplace_back(micro_batch, std::forward<L>(loss));
    }
    void wait() {
      for (auto& [m, loss] : later_) losses_[static_cast<std::size_t>(m)] = loss;
    }

   private:
    using Loss =
        decltype(std::declval<const Objective&>()
                     .forward_later(std::declval<nn::Context<D>&>(),
                                    std::declval<const B&>().part(std::declval<D&>(), Range()))
                     .output);

    std::span<LossSum> losses_;
    std::vector<std::pair<index_t, Loss>> later_;
  };

  template <class B>
  void run_lane(const Recipe& recipe, index_t lane, const B& batch, const float* values,
                const ops::Factor<D>& weights, RandomKey key, LaterLosses<B>& losses,
                const Ready& ready) {
    run_micro_batches(recipe, lane, batch, values, weights, key, losses, ready);
    Gradients& sum = *at(lane);
    if (ready) sum.watch(ready);  // also where no micro-batch had a sentence
    sum.end(layout());
  }

  template <class B>
  void run_micro_batches(const Recipe& recipe, index_t lane, const B& batch, const float* values,
                         const ops::Factor<D>& weights, RandomKey key, LaterLosses<B>& losses,
                         const Ready& ready) {
    Gradients& sum = *at(lane);
    const Range micro_batches = share(recipe.micro_batches, recipe.lanes, lane);
    for (index_t m = micro_batches.begin; m < micro_batches.end; ++m) {
      const Range range = share(batch.size(), recipe.micro_batches, m);
      if (range.size() == 0) continue;
      if (ready && m == last_with_sentences(recipe, micro_batches, batch.size())) sum.watch(ready);
      if (observer_ != nullptr) observer_->begin_pass(nn::Mode::train);
      nn::Context<D> ctx(*device_, values, sum, key, observer_, loss_scale_);
      ctx.read_weights(weights);
      auto [loss, saved] = [&] {
        const TraceSpan span(*device_, "forward", m);
        return objective_->forward_later(ctx, batch.part(*device_, range));
      }();
      const TraceSpan span(*device_, "backward", m);
      objective_->backward(ctx, std::move(saved));
      if (!std::exchange(is_checked_, true)) expect_gradients(*objective_, layout(), sum);
      losses.put(m, std::move(loss));
    }
  }

  //! What products of all passes read: nothing with an observer, since values may be there for a
  //! unit's work only.
  [[nodiscard]] ops::Factor<D> round_weights(const float* values,
                                             const ops::Factor<D>& rounded) const {
    if (observer_ != nullptr || !rounded.empty()) return rounded;
    return rounded_weights(*device_, values, layout().values);
  }

  //! The last micro-batch of some that gets a part of the batch.
  static index_t last_with_sentences(const Recipe& recipe, Range micro_batches, index_t sentences) {
    index_t last = micro_batches.end - 1;
    while (last > micro_batches.begin && share(sentences, recipe.micro_batches, last).size() == 0) {
      --last;
    }
    return last;
  }

  //! Adds the pairs of the tree that lane `lane` completes, as far as both sides are here, from
  //! `offset` to `offset + size`.
  void add_finished_pairs(index_t lane, index_t offset, index_t size) {
    for (index_t step = 1; (lane + 1) % (2 * step) == 0; step *= 2) {
      const index_t left = lane + 1 - 2 * step;
      if (left < lanes_.begin) return;
      ops::add_blocks(*device_, size, 0, ops::block_count(size), gradients(left + step) + offset,
                      gradients(left) + offset);
    }
  }

  [[nodiscard]] const nn::ParameterLayout& layout() const { return objective_->layout(); }

  [[nodiscard]] std::unique_ptr<Gradients>& at(index_t lane) {
    return sums_[static_cast<std::size_t>(lane - lanes_.begin)];
  }

  std::unique_ptr<Gradients> acquire() {
    if (free_.empty()) {
      const Shape shape{layout().gradients};
      free_.push_back(std::make_unique<Gradients>(
          layout(), gradients_go_ ? Tensor<float, D>::reserved(*device_, shape)
                                  : Tensor<float, D>(*device_, shape)));
    }
    auto gradients = std::move(free_.back());
    free_.pop_back();
    gradients->begin();
    return gradients;
  }

  //! Begins an update of these lanes.
  void forget(Range lanes) {
    for (auto& sum : sums_) {
      if (sum != nullptr) free_.push_back(std::move(sum));
    }
    sums_.clear();
    lanes_ = lanes;
    sums_.resize(static_cast<std::size_t>(lanes.size()));
  }

  D* device_;
  const Objective* objective_;
  bool gradients_go_;
  bool is_checked_ = false;  // that a pass finds all gradients
  PassObserver* observer_ = nullptr;
  float loss_scale_ = 1.0f;  // of the batch under way
  Range lanes_;
  std::vector<std::unique_ptr<Gradients>> sums_;  // of lanes_
  std::vector<std::unique_ptr<Gradients>> free_;
};

}  // namespace weft::parallel
