// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Data parallelism over ranks: each trains on its share of the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/version.hpp>
#include <weft/device/cpu.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/bucket_plan.hpp>
#include <weft/parallel/gradient_exchange.hpp>
#include <weft/parallel/lanes.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/over_ranks.hpp>
#include <weft/parallel/parameter_gather.hpp>
#include <weft/parallel/rank_losses.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/requirements.hpp>
#include <weft/parallel/shard.hpp>
#include <weft/parallel/shard_plan.hpp>
#include <weft/parallel/training_state.hpp>

namespace weft::parallel {

//! Runs a share of the recipe's lanes on each rank, reduces their gradients while the backward pass
//! goes on, and updates the parameters, of which every rank has all.
//!
//! Every rank calls the same methods with the same batch, of which it reads its own part. The
//! result equals `GradientAccumulation` with the same recipe bit for bit, unless an `Exchange` that
//! sends less is asked for; with fewer sentences, labels or lanes than ranks, some ranks have less
//! to do or nothing.
//!
//! **Memory.** In float32 with Adam, a lane a rank and N ranks, for each parameter, between
//! updates: 16 bytes; 8 + 8/N with `Shard::optimizer_state`; 4 + 12/N with `Shard::gradients`, if a
//! lane has one micro-batch (with more, a lane's gradients are kept until the last of them); 16/N
//! with `Shard::parameters`, which in an update has two layers more, and what is no layer of a
//! stack, or all parameters without `Exchange::reshard_after_forward`. The memory in which up to
//! four buckets are exchanged comes on top.
//! **Cost.** With N ranks, a lane each: a rank sends 2 (N - 1)/N of the gradient's bytes, and up to
//! 3 (N - 1)/N with `Shard::parameters` and a micro-batch a lane, unless layers are kept.
//! **Source.** torch.nn.parallel.DistributedDataParallel; Rajbhandari et al. 2020 (ZeRO).
template <class Model, class Loss, Shard shard = Shard::nothing, class Optimizer = optim::Adam,
          class D = Cpu, class C = comm::ThreadCommunicator>
class DistributedDataParallel : public OverRanks<C> {
  static_assert(sizeof(Requirements<Model, Loss, Optimizer, D>) > 0);

 public:
  using Objective = parallel::Objective<Model, Loss>;

  //! The parameters begin as rank 0 has them.
  //!
  //! **Errors.** As `Recipe::check`, `loss_scale_of` and `TrainingState`; RanksDiffer unless all
  //! ranks have the same model, optimizer, recipe and version of weft; CommunicatorAborted here and
  //! below.
  DistributedDataParallel(D& device, C& communicator, Objective objective,
                          const Optimizer& optimizer, const Recipe& recipe,
                          BucketSizes buckets = {}, Exchange exchange = {})
      : OverRanks<C>(communicator),
        device_(&device),
        recipe_(checked(recipe)),
        objective_(std::move(objective)),
        runner_(device, objective_, keep() == Keep::only_mine),
        plan_(buckets_of(objective_.layout(), buckets), objective_.layout().trained,
              agreed(communicator, recipe, objective_, optimizer, exchange).size()),
        exchange_(
            device, communicator, objective_.layout(), plan_, recipe.lanes,
            [this](index_t lane) { return runner_.gradients(lane); }, keep(), exchange),
        state_(device, objective_.layout(), this->values_of_root(objective_, recipe_.seed),
               optimizer, loss_scale_of<Loss>(recipe), owned(), present()) {
    if constexpr (shard == Shard::parameters) {
      gather_.emplace(device, communicator, layout(), plan_, state_.values().data(),
                      exchange.reshard_after_forward);
      runner_.watch(*gather_);
    }
  }

  //! For arguments that do not fit: errors that say which.
  template <class OtherC, class OtherD, class O, class W>
  requires RefusedOnRanks<OtherC, OtherD, O, W, C, D, Objective, Optimizer> DistributedDataParallel(
      OtherD&, OtherC&, O&&, const W&, const Recipe&, BucketSizes = {}, Exchange = {});
  template <class O>
  requires RefusedWithoutCommunicator<O, C> DistributedDataParallel(D&, O&&, const Optimizer&,
                                                                    const Recipe&);

  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  //! Adds the gradients of a batch to those of the next `step`, which makes one update of all.
  //! Nothing is reduced: what PyTorch calls `no_sync`.
  //!
  //! **Errors.** What a rank throws ends the communicator on all of them.
  template <class B>
  void accumulate(const B& batch) {
    static_assert(sizeof(RankBatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("accumulate");
    auto turn = batches_.begin(recipe_, state_.loads());
    turn.given().add(batch);
    with_parameters(nn::Mode::train, state_.steps(), batch.size(), [&] {
      runner_.accumulate(recipe_, lanes(), batch, turn.is_first(), state_.read_values().data(),
                         turn.key(recipe_.seed, state_.steps()), turn.losses(),
                         state_.loss_scale().value(), rounded_values());
    });
    turn.keep();
  }

  //! One update from a batch, at a learning rate.
  //!
  //! **Errors.** Error while what `whole_values` returned lives; ArgumentError as the optimizer's
  //! `step` for the rate; comm::RanksDiffer if the ranks were given other batches or rates,
  //! or their devices have other product precisions; comm::CommunicatorAborted where that made
  //! messages that do not fit, or a rank wait, before it was found.
  template <class B>
  StepReport step(const B& batch, double rate) {
    static_assert(sizeof(RankBatchRequirements<B, Model, Loss, D>) > 0);
    this->expect_no_whole("step");
    state_.expect_not_averaged("step");
    const auto turn = batches_.begin(recipe_, state_.loads());
    turn.given().add(batch);
    const index_t number = state_.steps();
    exchange_.begin(number);
    with_parameters(nn::Mode::train, number, batch.size(), [&] {
      runner_.run(
          recipe_, lanes(), batch, turn.is_first(), state_.read_values().data(),
          turn.key(recipe_.seed, number), turn.losses(), state_.loss_scale().value(),
          [this](int slot) { exchange_.ready(slot); }, rounded_values());
    });
    auto report = this->together([&] {
      const double squares = exchange_.finish();
      const auto on_all = [this](const auto& f) { f(*device_, 0, 1); };
      const auto made = state_.apply(
          on_all, recipe_, exchange_.sums(), squares,
          total_over_ranks(*communicator_, *device_, turn.all_losses(), number, turn.given(), rate),
          rate);
      if (!made.skipped) share_values();
      return made;
    });
    report.exposed_s = exchange_.take_exposed_s();
    if constexpr (shard == Shard::parameters) report.exposed_s += gather_->take_exposed_s();
    return report;
  }

  //! The loss of a batch, without dropout and without an update: on every rank that of the whole.
  //!
  //! **Errors.** comm::RanksDiffer if the ranks were given other batches, or their devices have
  //! other product precisions.
  template <class B>
  [[nodiscard]] LossSum evaluate(const B& batch) {
    static_assert(sizeof(RankBatchRequirements<B, Model, Loss, D>) > 0);
    std::vector<LossSum> losses(static_cast<std::size_t>(recipe_.micro_batches));
    with_parameters(nn::Mode::evaluate, comm::Purpose::none, batch.size(), [&] {
      runner_.evaluate(recipe_, evaluated_by(rank()), batch, state_.read_values().data(), losses,
                       rounded_values());
    });
    // A report has that of its step.
    if constexpr (shard == Shard::parameters) static_cast<void>(gather_->take_exposed_s());
    return total_over_ranks(*communicator_, *device_, losses, comm::Purpose::none,
                            GivenBatches(batch));
  }

  using OverRanks<C>::rank;
  using OverRanks<C>::ranks;
  using OverRanks<C>::is_root;

  //! Calls `f(device, index)` on every device of this rank: on one.
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

  //! While what this returns lives, `state().values()` has all parameters. All ranks ask.
  using Whole = WholeValues<DistributedDataParallel>;
  [[nodiscard]] Whole whole_values() { return Whole(*this); }

  //! Brings the parameters that this rank updates, as `state().values()` has them, to all that read
  //! them, as `step` does. All ranks call it.
  //!
  //! **Cost.** With N ranks under `Zero<1>` and `Zero<2>` a rank sends its share N - 1 times, else
  //! nothing.
  //! **Errors.** Error while what `whole_values` returned lives.
  void share_values() {
    this->expect_no_whole("share_values");
    this->together([&] {
      if (replicates_sharded_values()) exchange_.gather(state_.values().data());
    });
  }

  //! The values that this rank writes into files, as it does the optimizer's state for them: its
  //! shard. Where every rank has all, and of what no rank updates, the first one writes all.
  [[nodiscard]] std::vector<Range> saved_here() const {
    if (shard == Shard::nothing && !is_root()) return {};
    auto ranges = owned();
    if (is_root()) ranges.push_back({layout().trained, layout().values});
    return ranges;
  }

 private:
  using OverRanks<C>::communicator_;
  friend Whole;

  void acquire_all() {
    if constexpr (shard == Shard::parameters) gather_->acquire_all();
  }
  void release_all() {
    if constexpr (shard == Shard::parameters) gather_->release_all();
  }

  static const Recipe& checked(const Recipe& recipe) {
    recipe.check();
    return recipe;
  }

  static constexpr Keep keep() {
    if constexpr (shard == Shard::nothing) return Keep::all;
    return shard == Shard::optimizer_state ? Keep::mine : Keep::only_mine;
  }

  //! Whether every rank has all values, of which each updates its share.
  static constexpr bool replicates_sharded_values() {
    return shard == Shard::optimizer_state || shard == Shard::gradients;
  }

  static std::vector<Bucket> buckets_of(const nn::ParameterLayout& layout, BucketSizes sizes) {
    return shard == Shard::parameters ? plan_buckets_of_units(layout, sizes)
                                      : plan_buckets(layout, sizes);
  }

  //! The values as products read them: nothing where the device rounds nothing, or a unit's values
  //! are there for its work only.
  [[nodiscard]] ops::Factor<D> rounded_values() const {
    if constexpr (shard == Shard::parameters) return {};
    return state_.rounded_values();
  }

  //! Calls `work`, which makes this rank's passes over a batch, with the parameters it needs, and
  //! takes part in what the passes of ranks with more to do need.
  template <class Work>
  void with_parameters(nn::Mode mode, index_t update, index_t sentences, const Work& work) {
    this->together([&] {
      if constexpr (shard == Shard::parameters) {
        gather_->begin(update);
        work();
        index_t most = 0;
        for (int r = 0; r < ranks(); ++r) most = std::max(most, passes(mode, r, sentences));
        for (index_t pass = passes(mode, rank(), sentences); pass < most; ++pass) {
          gather_->take_part(mode);
        }
        gather_->end();
      } else {
        work();
      }
    });
  }

  [[nodiscard]] index_t passes(nn::Mode mode, int of_rank, index_t sentences) const {
    using Runner = LaneRunner<Objective, D>;
    return mode == nn::Mode::train
               ? Runner::passes(recipe_, lanes_of(of_rank), sentences)
               : Runner::evaluation_passes(recipe_, evaluated_by(of_rank), sentences);
  }

  //! The communicator, once its ranks have found that they are about to do the same.
  static C& agreed(C& communicator, const Recipe& recipe, const Objective& objective,
                   const Optimizer& optimizer, Exchange exchange) {
    const nn::ParameterLayout& layout = objective.layout();
    Fingerprint places;
    for (const auto& [offset, size] : layout.slots) {
      places.add(static_cast<std::uint64_t>(offset)).add(static_cast<std::uint64_t>(size));
    }
    comm::Facts facts{{"weft", version},
                      {"shard", text(static_cast<int>(shard))},
                      {"parameters", text(layout.trained)},
                      {"values", text(layout.values)},
                      {"places of gradients", text(places.value())},
                      {"order", to_text(exchange.order)},
                      {"wire", to_text(exchange.wire)},
                      {"reshard_after_forward", exchange.reshard_after_forward ? "yes" : "no"}};
    check_same_training(communicator, std::move(facts), recipe, objective, optimizer);
    return communicator;
  }

  [[nodiscard]] const nn::ParameterLayout& layout() const { return objective_.layout(); }
  [[nodiscard]] Range lanes() const { return lanes_of(rank()); }
  [[nodiscard]] Range lanes_of(int of_rank) const { return share(recipe_.lanes, ranks(), of_rank); }
  //! The micro-batches whose loss a rank computes.
  [[nodiscard]] Range evaluated_by(int of_rank) const {
    return share(recipe_.micro_batches, ranks(), of_rank);
  }
  [[nodiscard]] std::vector<Range> owned() const {
    if constexpr (shard == Shard::nothing) return {{0, layout().trained}};
    return plan_.owned(rank());
  }
  //! The values that are here all the time, unless all are.
  [[nodiscard]] std::optional<std::vector<Range>> present() const {
    if constexpr (shard != Shard::parameters) return std::nullopt;
    auto ranges = owned();
    ranges.push_back({layout().trained, layout().values});
    return ranges;
  }

  D* device_;
  Recipe recipe_;
  Objective objective_;
  LaneRunner<Objective, D> runner_;
  ShardPlan plan_;
  GradientExchange<D, C> exchange_;
  TrainingState<Optimizer, D> state_;
  std::optional<ParameterGather<D, C>> gather_;  // where parameters are sharded
  AccumulatedBatches batches_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::DistributedDataParallel;
}  // namespace weft
