// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Pipeline parallelism over ranks: each has some of a model's stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/core/version.hpp>
#include <weft/device/cpu.hpp>
#include <weft/nn/gradients.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/reduce.hpp>
#include <weft/optim/adam.hpp>
#include <weft/parallel/accumulated_batches.hpp>
#include <weft/parallel/bucket_plan.hpp>
#include <weft/parallel/divided_blocks.hpp>
#include <weft/parallel/expect_gradients.hpp>
#include <weft/parallel/gradient_exchange.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/parallel/over_ranks.hpp>
#include <weft/parallel/pipe.hpp>
#include <weft/parallel/rank_losses.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/requirements.hpp>
#include <weft/parallel/rounded_weights.hpp>
#include <weft/parallel/schedule/laws.hpp>
#include <weft/parallel/schedule/table.hpp>
#include <weft/parallel/shard.hpp>
#include <weft/parallel/shard_plan.hpp>
#include <weft/parallel/stage_places.hpp>
#include <weft/parallel/stage_runner.hpp>
#include <weft/parallel/training_state.hpp>

namespace weft::parallel {

//! Runs the stages of a Pipe on P ranks, stage s on rank s % P, and as many replicas of that as
//! there are P ranks.
//!
//!     using Model = Pipe<OneForwardOneBackward<8>, FirstHalf, SecondHalf>;
//!     PipelineParallel<Model, Loss> train(device, communicator, objective, optim::Adam(),
//!                                         {.lanes = 1, .micro_batches = 8});
//!
//! Rank w is rank w % P of replica w / P. Every rank calls the same methods with the same batch.
//! The result equals `GradientAccumulation` with the same recipe bit for bit: a lane for each
//! replica, and in each lane the table's micro-batches or fewer. A batch of fewer sequences than
//! micro-batches makes fewer of them.
//!
//! **Memory.** For each parameter of its stages what `DistributedDataParallel` has over the
//! replicas (`Shard::nothing` or `Shard::optimizer_state`); of activations what the schedule says.
//! As it is made, each rank has the values of the whole model on the host.
//! **Cost.** A stage's output and its gradient go over a link for each micro-batch. Weights that
//! stages share, and the blocks of parameters that a cut divides, are exchanged once an update.
//! **Source.** Huang et al. 2019; torch.distributed.pipelining.
template <class Model, class Loss, Shard shard = Shard::nothing, class Optimizer = optim::Adam,
          class D = Cpu, class C = comm::ThreadCommunicator>
class PipelineParallel : public OverRanks<C> {
  static_assert(is_pipe<Model>,
                "PipelineParallel trains a Pipe<Schedule, Stages...>: write the model's stages, or "
                "cut a Sequential by split<Schedule, stages>(model)");
  static_assert(sizeof(Requirements<Model, Loss, Optimizer, D>) > 0);
  static_assert(
      shard == Shard::nothing || shard == Shard::optimizer_state,
      "the replicas of a pipeline share the optimizer's state at most: Zero<0> or Zero<1>");

 public:
  using Objective = parallel::Objective<Model, Loss>;

  //! The parameters begin as rank 0 has them. Another table than the Pipe's own, such as one that
  //! was read, may have other numbers of ranks and micro-batches; it outlives this.
  //!
  //! **Errors.** ArgumentError unless the table keeps the laws (see schedule/laws.hpp) and has as
  //! many stages as the Pipe, there are ranks for whole replicas, as many lanes as replicas, and no
  //! more micro-batches in a lane than the table has, and where two stages of a rank have parameters
  //! in one block (see ops/blocks.hpp); as `Recipe::check`, `loss_scale_of` and `TrainingState`;
  //! RanksDiffer unless all ranks have the same model, optimizer, table, recipe and version of weft;
  //! CommunicatorAborted here and below.
  PipelineParallel(D& device, C& communicator, Objective objective, const Optimizer& optimizer,
                   const Recipe& recipe, const TableView& table = Model::table(),
                   Recompute recompute = Recompute::never, BucketSizes buckets = {})
      : OverRanks<C>(communicator),
        device_(&device),
        table_(table),
        recipe_(checked(recipe, table, communicator.size())),
        objective_(std::move(objective)),
        places_(objective_, table.ranks),
        layout_(places_.layout_of(rank_in_pipe())),
        gradients_(layout_, Tensor<float, D>::reserved(device, {layout_.gradients})),
        pipeline_(agreed(communicator, recipe, table, objective_, optimizer)
                      .split(replica(), rank_in_pipe())),
        replicas_(communicator.split(rank_in_pipe(), replica())),
        plan_(plan_buckets_of_ranges(layout_, places_.trained(rank_in_pipe()), buckets),
              places_.trained(rank_in_pipe()), replicas_.size()),
        divided_(places_.divided_blocks(), objective_.layout().trained, plan_.owned(replica())),
        state_(device, objective_.layout(), this->values_of_root(objective_, recipe_.seed),
               optimizer, loss_scale_of<Loss>(recipe), owned(), present()),
        weights_(device, layout_.values, places_.read(rank_in_pipe())),
        exchange_(
            device, replicas_, layout_, plan_, recipe.lanes,
            [this](index_t) { return gradients_.data(); },
            shard == Shard::nothing ? Keep::all : Keep::mine),
        runner_(device, pipeline_, objective_, recompute) {
    commit_gradients();
  }

  //! For arguments that do not fit: errors that say which.
  template <class OtherC, class OtherD, class O, class W>
  requires RefusedOnRanks<OtherC, OtherD, O, W, C, D, Objective, Optimizer> PipelineParallel(
      OtherD&, OtherC&, O&&, const W&, const Recipe&, const TableView& = Model::table(),
      Recompute = Recompute::never, BucketSizes = {});
  template <class O>
  requires RefusedWithoutCommunicator<O, C> PipelineParallel(D&, O&&, const Optimizer&,
                                                             const Recipe&);
  //! For what is no table in a table's place.
  template <class NoTable, class... More>
  requires RefusedAsTable<NoTable, TableView> PipelineParallel(D&, C&, const Objective&,
                                                               const Optimizer&, const Recipe&,
                                                               NoTable&&, More&&...);

  PipelineParallel(const PipelineParallel&) = delete;
  PipelineParallel& operator=(const PipelineParallel&) = delete;

  //! Adds the gradients of a batch to those of the next `step`, which makes one update of all.
  //!
  //! **Errors.** What a rank throws ends the communicator on all of them.
  template <class B>
  void accumulate(const B& batch) {
    static_assert(sizeof(RankBatchRequirements<B, Model, Loss, D>) > 0);
    state_.expect_not_averaged("accumulate");
    auto turn = batches_.begin(recipe_, state_.loads());
    turn.given().add(batch);
    train(batch, turn);
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
    train(batch, turn);
    auto report = this->together([&] {
      gradients_.end(layout_);
      move_tied_gradients();
      exchange_.begin(number);
      static_cast<void>(exchange_.finish());
      const double squares = sum_of_squares();
      const auto on_all = [this](const auto& f) { f(*device_, 0, 1); };
      const auto made = state_.apply(
          on_all, recipe_, gradients_.data(), squares,
          total_over_ranks(*communicator_, *device_, turn.all_losses(), number, turn.given(), rate),
          rate);
      if (!made.skipped) share_values();
      return made;
    });
    report.exposed_s = runner_.take_exposed_s() + exchange_.take_exposed_s();
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
    this->together([&] {
      run(batch,
          {.values = state_.values().data(), .weights = weights_.round(state_.values().data())},
          losses);
    });
    static_cast<void>(runner_.take_exposed_s());  // a report has that of its step
    return total_over_ranks(*communicator_, *device_, losses, comm::Purpose::none,
                            GivenBatches(batch));
  }

  //! Appends what this rank's stages do from now on to a trace, which outlives this or the next
  //! call; null ends it.
  void record(Trace* trace) { runner_.record(trace); }

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
  using Whole = WholeValues<PipelineParallel>;
  [[nodiscard]] Whole whole_values() { return Whole(*this); }

  //! Brings the parameters that this rank updates, as `state().values()` has them, to all that read
  //! them, as `step` does. All ranks call it.
  //!
  //! **Cost.** Under `Zero<1>` a rank sends its share to the other replicas; weights that stages
  //! share are sent to where they are used.
  //! **Errors.** Error while what `whole_values` returned lives.
  void share_values() {
    this->expect_no_whole("share_values");
    this->together([&] {
      if (shard != Shard::nothing) exchange_.gather(state_.values().data());
      for_tied([&](const nn::TiedGradient& use, int user, int owner) {
        move(owner, user, state_.values().data() + use.to, use.size, "a shared weight");
      });
    });
  }

  //! The values that this rank writes into files, as it does the optimizer's state for them: those
  //! of its stages, by the first replica unless replicas have shards. What no rank updates, the
  //! first one writes.
  [[nodiscard]] std::vector<Range> saved_here() const {
    if (shard == Shard::nothing && replica() > 0) return {};
    auto ranges = owned();
    if (is_root()) ranges.push_back({layout_.trained, layout_.values});
    return ranges;
  }

 private:
  using OverRanks<C>::communicator_;
  friend Whole;

  static const Recipe& checked(const Recipe& recipe, const TableView& table, int ranks) {
    recipe.check();
    if (table.stages != Model::stages) {
      throw ArgumentError(
          text("a Pipe of ", Model::stages, " stages cannot run a table of ", table.stages));
    }
    if (const TableFault fault = first_fault(table); fault.found()) {
      throw ArgumentError(text("the table of a pipeline: ", to_text(fault)));
    }
    if (ranks % table.ranks != 0) {
      throw ArgumentError(text("a Pipe on ", table.ranks,
                               " ranks needs these for each replica, not ", ranks, " in all"));
    }
    const index_t replicas = ranks / table.ranks;
    const index_t most = (recipe.micro_batches + recipe.lanes - 1) / recipe.lanes;
    if (recipe.lanes != replicas || most > table.micro_batches) {
      throw ArgumentError(text("a recipe of ", recipe.lanes, " lanes and ", recipe.micro_batches,
                               " micro-batches, for ", replicas,
                               " replicas of a pipeline whose table"
                               " has ",
                               table.micro_batches,
                               ": needs a lane for each replica, and no"
                               " more micro-batches in it than the table has"));
    }
    return recipe;
  }

  //! The communicator, once its ranks have found that they are about to do the same.
  static C& agreed(C& communicator, const Recipe& recipe, const TableView& table,
                   const Objective& objective, const Optimizer& optimizer) {
    const nn::ParameterLayout& layout = objective.layout();
    Fingerprint order;
    for (int rank = 0; rank < table.ranks; ++rank) {
      for (const Action action : table.of(rank)) {
        order.add(static_cast<std::uint64_t>(table.place_of(action)));
      }
    }
    comm::Facts facts{{"weft", version},
                      {"stages", text(table.stages)},
                      {"ranks of a pipeline", text(table.ranks)},
                      {"schedule", text(order.value())},
                      {"shard", text(static_cast<int>(shard))},
                      {"parameters", text(layout.trained)},
                      {"values", text(layout.values)}};
    check_same_training(communicator, std::move(facts), recipe, objective, optimizer);
    return communicator;
  }

  [[nodiscard]] int rank_in_pipe() const { return rank() % table_.ranks; }
  [[nodiscard]] int replica() const { return rank() / table_.ranks; }

  //! The parameters that this rank updates.
  [[nodiscard]] std::vector<Range> owned() const {
    return shard == Shard::nothing ? places_.trained(rank_in_pipe()) : plan_.owned(replica());
  }

  //! The values that this rank has: what its stages read, and tables.
  [[nodiscard]] std::vector<Range> present() const {
    auto ranges = places_.read(rank_in_pipe());
    ranges.push_back({layout_.trained, layout_.values});
    return ranges;
  }

  void acquire_all() {
    auto gathering = comm::device_communicator(*device_, pipeline_, comm::PostedBy::all);
    device_->commit(state_.values().data(), layout_.trained * index_t{sizeof(float)});
    comm::all_gather_ranges(gathering, state_.values().data(),
                            [&](int r) { return places_.trained(r); },
                            {"all_gather", "all parameters"});
  }
  //! Gives back the memory of values that this rank's stages do not read.
  void release_all() {
    for (const Range range : places_.unread(rank_in_pipe())) {
      device_->discard(state_.values().data() + range.begin, range.size() * index_t{sizeof(float)});
    }
  }

  //! Runs this replica's part of a batch, and returns whether it has one. `losses` has a place for
  //! each of the recipe's micro-batches. Those without sequences are left out, and the others are
  //! the first of the table: with gaps between them a schedule would hardly overlap.
  template <class B>
  bool run(const B& batch, const typename StageRunner<Objective, D, C>::Pass& pass,
           std::span<LossSum> losses) {
    using Part = decltype(batch.part(*device_, Range{}));
    const Range mine = share(recipe_.micro_batches, recipe_.lanes, replica());
    std::vector<Part> parts;
    std::vector<std::size_t> places;  // of their losses
    for (index_t m = mine.begin; m < mine.end; ++m) {
      const Range range = share(batch.size(), recipe_.micro_batches, m);
      if (range.size() == 0) continue;
      parts.push_back(batch.part(*device_, range));
      places.push_back(static_cast<std::size_t>(m));
    }
    std::vector<LossSum> found(parts.size());
    runner_.run(table_, pass, parts, found);
    for (std::size_t i = 0; i < found.size(); ++i) losses[places[i]] = found[i];
    return !parts.empty();
  }

  template <class B>
  void train(const B& batch, const AccumulatedBatches::Turn& turn) {
    if (turn.is_first()) gradients_.begin();
    this->together([&] {
      const bool has_run = run(batch,
                               {.values = state_.values().data(),
                                .weights = weights_.round(state_.values().data()),
                                .gradients = &gradients_,
                                .key = turn.key(recipe_.seed, state_.steps()),
                                .loss_scale = state_.loss_scale().value(),
                                .update = state_.steps()},
                               turn.losses());
      if (has_run && !std::exchange(is_checked_, true)) {
        expect_gradients(objective_, layout_, gradients_);
      }
    });
  }

  //! Calls `f(use, rank of the use, rank of the weight)` for each weight that stages share.
  template <class F>
  void for_tied(const F& f) const {
    for (const nn::TiedGradient& use : layout_.tied) {
      f(use, places_.rank_of_use(use), places_.owner(use.to));
    }
  }

  //! Moves `size` numbers from one rank of the pipeline to another.
  void move(int from, int to, float* numbers, index_t size, const char* what) {
    if (from == to || (rank_in_pipe() != from && rank_in_pipe() != to)) return;
    const comm::Message messages[] = {rank_in_pipe() == from
                                          ? comm::send_to(to, numbers, size)
                                          : comm::receive_from(from, numbers, size)};
    comm::exchange(runner_.channel(), messages,
                   {"send", what, comm::Purpose::none, state_.steps()});
  }

  //! Brings the gradients of further uses of a shared weight to where the weight is.
  void move_tied_gradients() {
    for_tied([&](const nn::TiedGradient& use, int user, int owner) {
      move(user, owner, gradients_.data() + use.from, use.size, "a shared weight's gradient");
    });
  }

  //! The sum of the squares of all gradients, block by block as one device adds them.
  [[nodiscard]] double sum_of_squares() {
    std::vector<double> sums = exchange_.squares();
    std::vector<std::vector<Range>> ranges(static_cast<std::size_t>(table_.ranks));
    for (const auto& [blocks, owner] : places_.whole_blocks()) {
      ranges[static_cast<std::size_t>(owner)].push_back(blocks);
    }
    comm::all_gather_ranges(pipeline_, sums.data(),
                            [&](int r) { return ranges[static_cast<std::size_t>(r)]; },
                            {"all_gather", "squared sums", comm::Purpose::none, state_.steps()});
    divided_.find_squares(*device_, *communicator_, gradients_.data(), state_.steps(), sums);
    return ops::ordered_sum(sums);
  }

  //! Has memory for the gradients that come to be here, once for all.
  void commit_gradients() {
    const auto commit = [&](index_t begin, index_t size) {
      device_->commit(gradients_.data() + begin, size * index_t{sizeof(float)});
    };
    for (const auto& [begin, size] : layout_.slots) commit(begin, size);
    for_tied([&](const nn::TiedGradient& use, int, int owner) {
      if (rank_in_pipe() == owner) commit(use.from, use.size);
    });
    divided_.clear(*device_, gradients_.data());
  }

  D* device_;
  TableView table_;
  Recipe recipe_;
  Objective objective_;
  StagePlaces places_;
  nn::ParameterLayout layout_;  // of this rank's gradients
  nn::Gradients<D> gradients_;
  bool is_checked_ = false;  // that a pass finds all gradients
  C pipeline_;  // the ranks of this replica
  C replicas_;  // the ranks with the same stages
  ShardPlan plan_;
  DividedBlocks divided_;
  TrainingState<Optimizer, D> state_;
  RoundedRanges<D> weights_;  // the last to reserve memory, as devices with NCCL do not
  GradientExchange<D, C> exchange_;
  StageRunner<Objective, D, C> runner_;
  AccumulatedBatches batches_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::PipelineParallel;
}
