// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Training on one device, micro-batch after micro-batch.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <weft/device/cpu.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/one_process.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/requirements.hpp>
#include <weft/parallel/training_state.hpp>

namespace weft::parallel {

//! One device runs all lanes of the recipe. What every other strategy has to equal, bit for bit.
//!
//! **Memory.** One gradient buffer for one lane, at most log2(lanes) + 1 for more.
template <class Model, class Loss, class Optimizer = optim::Adam, class D = Cpu>
class GradientAccumulation : public OneProcess {
  static_assert(sizeof(Requirements<Model, Loss, Optimizer, D>) > 0);

 public:
  using Objective = parallel::Objective<Model, Loss>;

  //! **Errors.** As `Recipe::check`, `loss_scale_of` and `TrainingState`.
  GradientAccumulation(D& device, Objective objective, const Optimizer& optimizer,
                       const Recipe& recipe)
      : device_(&device),
        recipe_(recipe),
        objective_(std::move(objective)),
        runner_(device, objective_),
        state_(device, objective_.layout(),
               nn::initial_values(objective_.layout(), recipe.seed, objective_), optimizer,
               loss_scale_of<Loss>(recipe)) {
    recipe.check();
  }

  //! For arguments that do not fit: an error that says which.
  template <class OtherDevice, class O, class W>
  requires Refused<OtherDevice, O, W, D, Objective, Optimizer> GradientAccumulation(OtherDevice&,
                                                                                    O&&, const W&,
                                                                                    const Recipe&);

  GradientAccumulation(const GradientAccumulation&) = delete;
  GradientAccumulation& operator=(const GradientAccumulation&) = delete;

  //! Adds the gradients of a batch to those of the next `step`, which makes one update of all.
  //!
  //! **Errors.** What the model and the loss throw; the batches before it are then forgotten too.
  template <class B>
  void accumulate(const B& batch) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("accumulate");
    auto turn = batches_.begin(recipe_, state_.loads());
    runner_.accumulate(recipe_, {0, recipe_.lanes}, batch, turn.is_first(),
                       state_.read_values().data(), turn.key(recipe_.seed, state_.steps()),
                       turn.losses(), state_.loss_scale().value(), state_.rounded_values());
    turn.keep();
  }

  //! One update from a batch, at a learning rate.
  //!
  //! **Errors.** ArgumentError as the optimizer's `step` for the rate; what the model and the loss
  //! throw, before a parameter has changed. What was accumulated for the update is then forgotten.
  template <class B>
  StepReport step(const B& batch, double rate) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("step");
    const auto turn = batches_.begin(recipe_, state_.loads());
    runner_.run(recipe_, {0, recipe_.lanes}, batch, turn.is_first(), state_.read_values().data(),
                turn.key(recipe_.seed, state_.steps()), turn.losses(), state_.loss_scale().value(),
                {}, state_.rounded_values());
    std::vector<float*> lanes;
    for (index_t lane = 0; lane < recipe_.lanes; ++lane) lanes.push_back(runner_.gradients(lane));
    const auto on_all = [this](const auto& f) { f(*device_, 0, 1); };
    return state_.update(on_all, recipe_, std::move(lanes), total(turn.all_losses()), rate);
  }

  //! The loss of a batch, without dropout and without an update.
  template <class B>
  [[nodiscard]] LossSum evaluate(const B& batch) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    std::vector<LossSum> losses(static_cast<std::size_t>(recipe_.micro_batches));
    runner_.evaluate(recipe_, {0, recipe_.micro_batches}, batch, state_.read_values().data(),
                     losses, state_.rounded_values());
    return total(losses);
  }

  //! Calls `f(device, index)` on every device: here, on one.
  template <class F>
  void on_devices(F&& f) {
    f(*device_, 0);
  }

  [[nodiscard]] int devices() const { return 1; }
  [[nodiscard]] D& device(int) const { return *device_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] const Objective& objective() const { return objective_; }
  [[nodiscard]] TrainingState<Optimizer, D>& state() { return state_; }
  [[nodiscard]] const TrainingState<Optimizer, D>& state() const { return state_; }

  //! The values that this process writes into files: all.
  [[nodiscard]] std::vector<Range> saved_here() const { return {{0, objective_.layout().values}}; }

 private:
  D* device_;
  Recipe recipe_;
  Objective objective_;
  LaneRunner<Objective, D> runner_;
  TrainingState<Optimizer, D> state_;
  AccumulatedBatches batches_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::GradientAccumulation;
}
