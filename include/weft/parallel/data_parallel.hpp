// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Data parallelism in one process: every device trains on its share of the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/core/tree_pairs.hpp>
#include <weft/device/device_group.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/one_process.hpp>
#include <weft/parallel/parallel_apply.hpp>
#include <weft/parallel/primitives.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/requirements.hpp>
#include <weft/parallel/training_state.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! Scatters a batch over devices, runs model and loss on each, reduces the gradients and updates
//! the parameters; every device does its share of each.
//!
//! Devices that share memory share the values, and none is copied; others, as those of several
//! GPUs, get a copy before each batch, and their gradients come to the first one by a tree of
//! copies. The loss is computed where the output lives. The result equals `GradientAccumulation`
//! with the same recipe bit for bit.
//!
//! **Memory.** A gradient buffer a device, if there are as many lanes as devices; where memory is
//! not shared, a second one while they are added up, and the values. GPUs that round factors hold
//! the values rounded too, in half the memory.
//! **Source.** torch.nn.DataParallel and The Annotated Transformer's multi-GPU loss.
template <class Model, class Loss, class Optimizer = optim::Adam, class D = Cpu>
class DataParallel : public OneProcess {
  static_assert(sizeof(Requirements<Model, Loss, Optimizer, D>) > 0);

 public:
  using Objective = parallel::Objective<Model, Loss>;

  //! Parameters and the optimizer's state lie on the first device.
  //!
  //! **Errors.** As `Recipe::check`, `loss_scale_of` and `TrainingState`.
  DataParallel(const DeviceGroup<D>& devices, Objective objective, const Optimizer& optimizer,
               const Recipe& recipe)
      : devices_(&devices),
        recipe_(recipe),
        objective_(std::move(objective)),
        state_(devices[0], objective_.layout(),
               nn::initial_values(objective_.layout(), recipe.seed, objective_), optimizer,
               loss_scale_of<Loss>(recipe)) {
    recipe.check();
    for (int index = 0; index < devices.size(); ++index) {
      runners_.emplace_back(devices[index], objective_);
      if (D::shares_memory(devices[0], devices[index])) near_.push_back(index);
    }
  }

  //! The group must outlive it.
  DataParallel(const DeviceGroup<D>&&, Objective, const Optimizer&, const Recipe&) = delete;

  //! For arguments that do not fit: an error that says which.
  template <class Devices, class O, class W>
  requires Refused<Devices, O, W, DeviceGroup<D>, Objective, Optimizer> DataParallel(Devices&, O&&,
                                                                                     const W&,
                                                                                     const Recipe&);

  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  //! Adds the gradients of a batch to those of the next `step`, which makes one update of all.
  //!
  //! **Errors.** As `step`'s, but for the rate.
  template <class B>
  void accumulate(const B& batch) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("accumulate");
    auto turn = batches_.begin(recipe_, state_.loads());
    const auto values = replicated_values();
    on_devices([&](D&, int index) {
      runner(index).accumulate(recipe_, lanes_of(index), batch, turn.is_first(),
                               values[static_cast<std::size_t>(index)].data(),
                               turn.key(recipe_.seed, state_.steps()), turn.losses(),
                               state_.loss_scale().value(), rounded_on(index));
    });
    turn.keep();
  }

  //! One update from a batch, at a learning rate.
  //!
  //! **Errors.** DeviceError if a device fails, Error if their product precisions differ,
  //! ArgumentError as the optimizer's `step` for the rate; the parameters are then unchanged, and
  //! what was accumulated for the update is forgotten.
  template <class B>
  StepReport step(const B& batch, double rate) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("step");
    const auto turn = batches_.begin(recipe_, state_.loads());
    const auto values = replicated_values();
    on_devices([&](D&, int index) {
      runner(index).run(recipe_, lanes_of(index), batch, turn.is_first(),
                        values[static_cast<std::size_t>(index)].data(),
                        turn.key(recipe_.seed, state_.steps()), turn.losses(),
                        state_.loss_scale().value(), {}, rounded_on(index));
    });
    std::vector<float*> lanes(static_cast<std::size_t>(recipe_.lanes), nullptr);
    for (int index = 0; index < devices(); ++index) {
      for (index_t lane = lanes_of(index).begin; lane < lanes_of(index).end; ++lane) {
        lanes[static_cast<std::size_t>(lane)] = runner(index).gradients(lane);
      }
    }
    if (std::ssize(near_) < devices()) bring_to_first(lanes);
    const auto on_near = [this](const auto& f) {
      on_devices([&](D& device, int index) {
        const auto part = std::ranges::find(near_, index) - near_.begin();
        if (part < std::ssize(near_)) f(device, part, std::ssize(near_));
      });
    };
    return state_.update(on_near, recipe_, std::move(lanes), total(turn.all_losses()), rate);
  }

  //! The loss of a batch, without dropout and without an update.
  //!
  //! **Errors.** As `accumulate`'s.
  template <class B>
  [[nodiscard]] LossSum evaluate(const B& batch) {
    static_assert(sizeof(BatchRequirements<B, Model, Loss, D>) > 0);
    std::vector<LossSum> losses(static_cast<std::size_t>(recipe_.micro_batches));
    const auto values = replicated_values();
    on_devices([&](D&, int index) {
      runner(index).evaluate(recipe_, share(recipe_.micro_batches, devices(), index), batch,
                             values[static_cast<std::size_t>(index)].data(), losses,
                             rounded_on(index));
    });
    return total(losses);
  }

  //! Calls `f(device, index)` on the worker of every device, and returns when all have ended.
  template <class F>
  void on_devices(const F& f) {
    parallel_apply(*devices_, f);
  }

  [[nodiscard]] int devices() const { return devices_->size(); }
  [[nodiscard]] D& device(int index) const { return (*devices_)[index]; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] const Objective& objective() const { return objective_; }
  [[nodiscard]] TrainingState<Optimizer, D>& state() { return state_; }
  [[nodiscard]] const TrainingState<Optimizer, D>& state() const { return state_; }

  //! The values that this process writes into files: all.
  [[nodiscard]] std::vector<Range> saved_here() const { return {{0, objective_.layout().values}}; }

 private:
  //! Lane 0, where all are added up, is the first device's, also where not all devices get one.
  [[nodiscard]] Range lanes_of(int index) const {
    const int busy = static_cast<int>(std::min<index_t>(devices(), recipe_.lanes));
    return index < busy ? share(recipe_.lanes, busy, index) : Range{};
  }

  [[nodiscard]] LaneRunner<Objective, D>& runner(int index) {
    return runners_[static_cast<std::size_t>(index)];
  }

  //! **Errors.** Error if products of some devices are of another precision than the first one's:
  //! how many there are would change the numbers.
  void expect_one_precision() const {
    const ProductPrecision first = product_precision_of(device(0));
    for (int index = 1; index < devices(); ++index) {
      const ProductPrecision other = product_precision_of(device(index));
      if (other == first) continue;
      throw Error(text("DataParallel: the product precision of device 0 is ", to_text(first),
                       ", that of device ", index, " ", to_text(other),
                       "; train::set_product_precision sets that of all"));
    }
  }

  //! The values on every device. Those that share the first one's memory find them rounded there.
  [[nodiscard]] std::vector<Tensor<float, D>> replicated_values() {
    expect_one_precision();
    rounded_ = {};  // before there is another
    rounded_ = state_.rounded_values();
    return replicate(*devices_, state_.read_values());
  }
  [[nodiscard]] ops::Factor<D> rounded_on(int index) const {
    return std::ranges::find(near_, index) == near_.end() ? ops::Factor<D>() : rounded_;
  }

  //! The device that runs a lane.
  [[nodiscard]] D& device_of(index_t lane) const {
    int index = 0;
    while (lane >= lanes_of(index).end) ++index;
    return device(index);
  }

  //! Adds up lanes of devices that do not share memory, in the canonical tree; the first one then
  //! holds the sum. The devices wait for each other, the host for none.
  void bring_to_first(std::vector<float*>& lanes) {
    const index_t n = objective_.layout().gradients;
    const auto at = [&](index_t lane) { return lanes[static_cast<std::size_t>(lane)]; };
    for_tree_pairs(std::ssize(lanes), at, [&](index_t left, index_t right) {
      D &to = device_of(left), &from = device_of(right);
      to.wait_for(from);
      Tensor<float, D> copy;
      if (!D::shares_memory(to, from)) {
        copy = Tensor<float, D>(to, {n});
        to.copy(copy.data(), at(right), n * index_t{sizeof(float)});
        from.wait_for(to);  // before it may give its gradients back, whatever happens here
      }
      ops::add_blocks(to, n, 0, ops::block_count(n), copy.empty() ? at(right) : copy.data(),
                      at(left));
    });
    lanes.resize(1);
    for (const int index : near_) device(index).wait_for(device(0));
  }

  const DeviceGroup<D>* devices_;
  Recipe recipe_;
  Objective objective_;
  std::vector<int> near_;   // the devices that share the first one's memory
  ops::Factor<D> rounded_;  // values of the batch under way, where devices round
  std::vector<LaneRunner<Objective, D>> runners_;
  TrainingState<Optimizer, D> state_;
  AccumulatedBatches batches_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::DataParallel;
}
