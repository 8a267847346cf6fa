// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A strategy of one's own: ranks train for themselves and average their parameters at times.
// [class]
#pragma once

#include <weft/comm/collectives.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/device/cpu.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/one_process.hpp>
#include <weft/parallel/over_ranks.hpp>
#include <weft/parallel/rank_losses.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/training_state.hpp>

#include <span>
#include <utility>
#include <vector>

namespace guides {

namespace comm = weft::comm;
namespace parallel = weft::parallel;
using weft::index_t;
using weft::Range;

//! Local SGD: each rank makes updates from its own share of the batch, without a word to the
//! others; after every `period` updates all ranks have the mean of their parameters.
//!
//! The bits are not those of one device: that is the price for sending less, where period > N / 2.
//!
//! **Cost.** A rank sends N - 1 times its parameters' bytes every `period` updates, N / (2 period)
//! of what DistributedDataParallel sends: `all_reduce` gathers the values of all ranks.
//! **Source.** Stich 2019, "Local SGD converges fast and communicates little".
template <class Model, class Loss, class Optimizer = weft::optim::Adam, class D = weft::Cpu,
          comm::Communicator C = comm::ThreadCommunicator>
class AveragedRanks : public parallel::OverRanks<C> {
 public:
  using Objective = parallel::Objective<Model, Loss>;
  using OverRanks = parallel::OverRanks<C>;
  using OverRanks::rank, OverRanks::ranks;

  AveragedRanks(D& device, C& communicator, Objective objective, const Optimizer& optimizer,
                const parallel::Recipe& recipe, int period)
      : OverRanks(communicator),
        device_(&device),
        recipe_(recipe),
        period_(period),
        objective_(std::move(objective)),
        runner_(device, objective_),
        state_(device, objective_.layout(),
               weft::nn::initial_values(objective_.layout(), recipe.seed, objective_), optimizer) {
    recipe.check();
    if (recipe.lanes < ranks()) {  // a rank without one has no gradients
      throw weft::ArgumentError(
          weft::text("AveragedRanks: ", recipe.lanes, " lanes for ", ranks(), " ranks"));
    }
    comm::broadcast(communicator, values(), /*root=*/0, {"broadcast", "parameters"});
  }
  // [class]

  // [step]
  //! One update from a batch, of which every rank takes its share.
  template <class B>
  parallel::StepReport step(const B& batch, double rate) {
    return this->together([&] {
      const auto turn = batches_.begin(recipe_, state_.loads());
      runner_.run(recipe_, lanes(), batch, turn.is_first(), values().data(),
                  turn.key(recipe_.seed, state_.steps()), turn.losses());
      std::vector<float*> sums;
      for (index_t lane = lanes().begin; lane < lanes().end; ++lane) {
        sums.push_back(runner_.gradients(lane));
      }
      const auto on_all = [this](const auto& f) { f(*device_, 0, 1); };
      const auto mine = parallel::total(turn.all_losses());
      const index_t updates = state_.updates(), skipped = state_.skipped();
      auto report = state_.update(on_all, recipe_, std::move(sums), mine, rate);
      report.skipped = !this->on_any_rank(!report.skipped);
      state_.set_counters(updates + (report.skipped ? 0 : 1), skipped + (report.skipped ? 1 : 0));
      if (state_.steps() % period_ == 0) share_values();
      report.loss = parallel::total_over_ranks(*this->communicator_, *device_, turn.all_losses(),
                                               state_.steps(), parallel::GivenBatches(batch), rate);
      return report;
    });
  }
  // [step]

  // [evaluate]
  //! The loss of a batch without an update: on every rank that of the whole.
  template <class B>
  parallel::LossSum evaluate(const B& batch) {
    return this->together([&] {
      std::vector<parallel::LossSum> losses(static_cast<std::size_t>(recipe_.micro_batches));
      runner_.evaluate(recipe_, weft::share(recipe_.micro_batches, ranks(), rank()), batch,
                       values().data(), losses);
      return parallel::total_over_ranks(*this->communicator_, *device_, losses, comm::Purpose::none,
                                        parallel::GivenBatches(batch));
    });
  }
  // [evaluate]

  // [rest]
  template <class F>
  void on_devices(F&& f) {
    f(*device_, 0);
  }

  int devices() const { return 1; }
  D& device(int) const { return *device_; }
  const parallel::Recipe& recipe() const { return recipe_; }
  const Objective& objective() const { return objective_; }
  parallel::TrainingState<Optimizer, D>& state() { return state_; }
  const parallel::TrainingState<Optimizer, D>& state() const { return state_; }

  //! Every rank has all values; the first one writes them into files.
  static typename parallel::OneProcess::Whole whole_values() { return {}; }
  std::vector<Range> saved_here() const {
    if (!this->is_root()) return {};
    return {{0, objective_.layout().values}};
  }
  // [rest]

  // [average]
  std::span<float> values() const {
    return {state_.values().data(), static_cast<std::size_t>(objective_.layout().trained)};
  }

  //! Gives every rank the mean of all ranks' values.
  void share_values() {
    comm::all_reduce(*this->communicator_, values(), {"all_reduce", "parameters"});
    for (float& value : values()) value /= static_cast<float>(ranks());
  }
  // [average]

  // [members]
 private:
  Range lanes() const { return weft::share(recipe_.lanes, ranks(), rank()); }

  D* device_;
  parallel::Recipe recipe_;
  int period_;
  Objective objective_;
  parallel::LaneRunner<Objective, D> runner_;
  parallel::TrainingState<Optimizer, D> state_;
  parallel::AccumulatedBatches batches_;
};

}  // namespace guides
// [members]
