// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file An optimizer for programs that have ranks and a loop of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/version.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/device.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/optim/optimizer.hpp>
#include <weft/parallel/bucket_plan.hpp>
#include <weft/parallel/given_batches.hpp>
#include <weft/parallel/gradient_exchange.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/over_ranks.hpp>
#include <weft/parallel/rank_losses.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/shard_plan.hpp>
#include <weft/parallel/training_state.hpp>

namespace weft::parallel {

//! A learning rate for a batch that grows with the number of ranks: rate x ranks.
//!
//! **Source.** Goyal et al. 2017; what Horovod advises.
[[nodiscard]] constexpr double scaled_rate(double rate, int ranks) { return rate * ranks; }

//! Wraps any optimizer: `step` adds the gradients of all ranks before it updates.
//!
//!     DistributedOptimizer<optim::Adam> optimizer(device, communicator, optim::Adam(), values);
//!     for (...) {
//!       ... gradients of the sum of this rank's losses, at optimizer.values() ...
//!       optimizer.step(gradients, {loss, tokens}, rate);
//!     }
//!
//! DistributedDataParallel does the same for a Model and a Loss of weft, and reduces while the
//! backward pass goes on; this is for gradients that come from elsewhere.
//!
//! **Memory.** Values, the optimizer's buffers, and the buckets under way.
//! **Cost.** With N ranks a rank sends 2 (N - 1)/N of the gradient's bytes.
//! **Source.** horovod.DistributedOptimizer.
template <class Optimizer, class D = Cpu, class C = comm::ThreadCommunicator>
class DistributedOptimizer {
  static_assert(optim::Optimizer<Optimizer>,
                "DistributedOptimizer wraps an optimizer such as optim::Adam, which has Step, step "
                "and state_names");
  static_assert(Device<D>, "the second argument of DistributedOptimizer is a device, such as Cpu");
  static_assert(comm::Communicator<C>,
                "the last argument of DistributedOptimizer is its communicator's type, such as "
                "comm::ThreadCommunicator");

 public:
  //! Begins with the values of rank 0. Gradients are clipped at `clip_norm`, unless that is 0.
  //!
  //! **Errors.** RanksDiffer unless all ranks have as many values, the same optimizer and
  //! `clip_norm`; CommunicatorAborted here and below.
  DistributedOptimizer(D& device, C& communicator, const Optimizer& optimizer,
                       std::span<const float> values, double clip_norm = 0.0,
                       BucketSizes buckets = {}, Wire wire = Wire::float32)
      : device_(&device),
        communicator_(&communicator),
        recipe_(
            agreed(communicator, optimizer, static_cast<index_t>(values.size()), clip_norm, wire)),
        moving_(comm::device_communicator(device, communicator, comm::PostedBy::all)),
        layout_(layout_of(static_cast<index_t>(values.size()))),
        plan_(plan_buckets(layout_, buckets), layout_.trained, communicator.size()),
        exchange_(
            device, communicator, layout_, plan_, communicator.size(),
            [this](index_t) { return gradients_; }, Keep::all, Exchange{.wire = wire}),
        state_(device, layout_, values, optimizer) {
    broadcast_state(0);
  }

  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  //! One update by the mean gradient over what all ranks counted.
  //!
  //! **Shapes.** gradients: one for each value, on the device, of the *sum* of this rank's losses;
  //! afterwards the sums over all ranks. `loss`: that sum, and how many it is the sum of. For a
  //! mean over ranks, as Horovod takes it, let every rank count 1.
  //! **Errors.** ShapeError unless there is a gradient for each value; RanksDiffer if ranks were
  //! given other rates, or their devices have other product precisions. What is thrown on one rank
  //! ends the communicator on all of them.
  StepReport step(std::span<float> gradients, const LossSum& loss, double rate) {
    return end_all_on_failure(*communicator_, [&] { return step_here(gradients, loss, rate); });
  }

  //! Gives all ranks the values, the optimizer's buffers and the counters of one of them, as after
  //! it has read a saved state.
  void broadcast_state(int root) {
    state_.expect_not_averaged("broadcast_state");
    const auto send = [&](const Tensor<float, D>& tensor, const char* what) {
      comm::broadcast(moving_, std::span(tensor.data(), static_cast<std::size_t>(tensor.size())),
                      root, {"broadcast", what});
    };
    send(state_.values(), "values");
    for (std::size_t i = 0; i != state_.buffers; ++i) send(state_.buffer(i), "optimizer's buffers");
    std::array<index_t, 2> counters{state_.updates(), state_.skipped()};
    comm::broadcast(*communicator_, std::span<index_t>(counters), root, {"broadcast", "counters"});
    state_.set_counters(counters[0], counters[1]);
  }

  //! Every rank updates all values: for `with_average`.
  static constexpr void share_values() {}

  //! On the device.
  [[nodiscard]] std::span<float> values() const {
    return {state_.values().data(), static_cast<std::size_t>(layout_.trained)};
  }
  [[nodiscard]] TrainingState<Optimizer, D>& state() { return state_; }
  [[nodiscard]] const TrainingState<Optimizer, D>& state() const { return state_; }

 private:
  StepReport step_here(std::span<float> gradients, const LossSum& loss, double rate) {
    if (static_cast<index_t>(gradients.size()) != layout_.trained) {
      throw ShapeError(text("DistributedOptimizer: ", gradients.size(), " gradients for ",
                            layout_.trained, " values"));
    }
    gradients_ = gradients.data();
    const double squares = exchanged_squares();
    std::vector<LossSum> losses(static_cast<std::size_t>(communicator_->size()));
    losses[static_cast<std::size_t>(communicator_->rank())] = loss;
    const LossSum all =
        total_over_ranks(*communicator_, *device_, losses, state_.steps(), GivenBatches(), rate);
    const auto on_all = [this](const auto& f) { f(*device_, 0, 1); };
    auto report = state_.apply(on_all, recipe_, gradients_, squares, all, rate);
    report.exposed_s = exchange_.take_exposed_s();
    return report;
  }

  //! Has the sums over all ranks in `gradients_`, which are the caller's: nothing that is under way
  //! outlives the call.
  [[nodiscard]] double exchanged_squares() {
    try {
      exchange_.begin(state_.steps());
      exchange_.ready(0);
      return exchange_.finish();
    } catch (...) {
      exchange_.give_up();
      throw;
    }
  }

  static Recipe agreed(C& communicator, const Optimizer& optimizer, index_t values,
                       double clip_norm, Wire wire) {
    comm::Facts facts{{"weft", version},
                      {"values", text(values)},
                      {"clip_norm", text(clip_norm)},
                      {"wire", to_text(wire)}};
    std::ranges::move(facts_of_optimizer(optimizer), std::back_inserter(facts));
    comm::check_same(communicator, facts);
    const Recipe recipe{
        .lanes = communicator.size(), .micro_batches = communicator.size(), .clip_norm = clip_norm};
    recipe.check();
    return recipe;
  }

  //! Of values that lie one behind the other and are ready together.
  static nn::ParameterLayout layout_of(index_t values) {
    nn::ParameterLayout layout;
    layout.trained = layout.values = layout.gradients = values;
    layout.slots.emplace_back(0, values);
    return layout;
  }

  D* device_;
  C* communicator_;
  Recipe recipe_;
  comm::DeviceCommunicator<D, C> moving_;  // for what lies on the device
  nn::ParameterLayout layout_;
  ShardPlan plan_;
  float* gradients_ = nullptr;  // of the step under way
  GradientExchange<D, C> exchange_;
  TrainingState<Optimizer, D> state_;
};

}  // namespace weft::parallel

namespace weft {
using parallel::DistributedOptimizer;
}
