// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file One rank's stages, run by a schedule's table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/device_communicator.hpp>
#include <weft/comm/exposed_time.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/clock.hpp>
#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/gradients.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/put_off.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/factor.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/pipeline_trace.hpp>
#include <weft/parallel/rethrow_with_module.hpp>
#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/table.hpp>
#include <weft/parallel/stage_value.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

//! Whether stages compute their forward again in the backward pass, instead of remembering it.
enum class Recompute {
  never,
  //! Where it saves memory: not for a micro-batch whose backward is the rank's next action, as it
  //! is for the last one in torchgpipe's order, and for all in the last stage of 1F1B.
  except_last,
  always,
};

//! Does a rank's work on the micro-batches of a batch, in the table's order.
//!
//! A value is sent as soon as it is there, and received where it is used; nothing waits for a send
//! to end but the end of the batch. The last stage computes the loss with its forward.
//!
//! **Memory.** What the stages save of the micro-batches under way, or where they recompute, their
//! inputs and what they save of one; where the backward is split, of each whose gradients of
//! weights are put off, the factors of their products, recomputed or not; values that were sent but
//! not yet received.
//! **Errors.** What a pass throws; a NotFiniteError says in which module.
template <class Objective, class D, comm::Communicator C>
class StageRunner {
 public:
  //! The pipeline's model, a Pipe.
  using Model = std::remove_cvref_t<decltype(std::declval<const Objective&>().model())>;
  //! The loss behind it.
  using Loss = std::remove_cvref_t<decltype(std::declval<const Objective&>().loss())>;

  //! Rank r of the communicator is rank r of the table. All of them call it.
  StageRunner(D& device, C& communicator, const Objective& objective, Recompute recompute)
      : device_(&device),
        activations_(comm::device_communicator(device, communicator, comm::PostedBy::pair)),
        gradients_(comm::device_communicator(device, communicator, comm::PostedBy::pair)),
        objective_(&objective),
        recompute_(recompute) {}

  //! What a pass over a batch needs besides the batch.
  struct Pass {
    const float* values = nullptr;          //!< of all parameters that the stages read
    ops::Factor<D> weights{};               //!< the same as products read them; empty: as they are
    nn::Gradients<D>* gradients = nullptr;  //!< null: evaluation
    RandomKey key{};                        //!< of the random numbers
    double loss_scale = 1.0;                //!< what gradients are multiplied by
    index_t update = comm::Purpose::none;   //!< its number, for errors
  };

  //! Runs micro-batches 0 to `parts.size() - 1` of the table; parts[m] and losses[m] are
  //! micro-batch m's. The last rank fills `losses`.
  template <class MicroBatch>
  void run(const TableView& table, const Pass& pass, const std::vector<MicroBatch>& parts,
           std::span<LossSum> losses) try {
    begin(table, pass, parts.size());
    const auto is_run = [&](Action action) {
      return action.micro_batch() < std::ssize(parts) &&
             (pass.gradients != nullptr || action.work() == Work::forward);
    };
    const auto order = table.of(rank());
    const auto next_from = [&](auto at) { return std::find_if(at, order.end(), is_run); };
    for (auto at = next_from(order.begin()), next = at; at != order.end(); at = next) {
      next = next_from(at + 1);
      const Action action = *at;
      const auto m = static_cast<std::size_t>(action.micro_batch());
      const bool turns_back = next != order.end() && next->work() == Work::backward &&
                              next->stage() == action.stage() &&
                              next->micro_batch() == action.micro_batch();
      const double begin_s = trace_ != nullptr ? monotonic_seconds() : 0.0;
      const double exposed_s = exposed_.seconds();
      const TraceSpan span(*device_, name_of(action.work()), action.micro_batch());
      in_stage(action.stage(), [&]<int stage>() {
        switch (action.work()) {
          case Work::forward:
            return forward<stage>(action, parts[m], losses[m], turns_back);
          case Work::backward:
            return backward<stage>(action, parts[m]);
          case Work::weight_gradients:
            return put_off(action).run();
        }
      });
      if (trace_ != nullptr) {
        device_->synchronize();
        trace_->push_back({action, begin_s, monotonic_seconds(), exposed_.seconds() - exposed_s});
      }
    }
    for (Sent& sent : sent_) wait(sent.transfer, "wait to send");
    sent_.clear();
    pass_ = {};  // gives the rounded weights back
  } catch (const ops::NotFiniteError& error) {
    rethrow_with_module(*objective_, error);
  }

  //! Appends what is done from now on to a trace, or to none. With one the host waits for the
  //! device after each action.
  void record(Trace* trace) { trace_ = trace; }

  //! For what else goes between its ranks, after a pass: it is silent then.
  [[nodiscard]] comm::DeviceCommunicator<D, C>& channel() { return activations_; }

  //! The seconds spent in waiting since the last call.
  [[nodiscard]] double take_exposed_s() { return exposed_.take(); }

 private:
  using DeviceC = comm::DeviceCommunicator<D, C>;

  template <int stage>
  using Stage = std::remove_cvref_t<decltype(std::declval<const Model&>().template stage<stage>())>;

  //! What a stage keeps of a micro-batch.
  template <int stage>
  struct Store {
    typename Stage<stage>::template Saved<D> saved;
    nn::InputOf<Stage<stage>, D> input;  // to compute `saved` again
    bool recomputes = false;
  };
  template <class Stages>
  struct StoresOf;
  template <int... stage>
  struct StoresOf<std::integer_sequence<int, stage...>> {
    using Type = std::tuple<std::vector<Store<stage>>...>;
  };
  using Stores = typename StoresOf<std::make_integer_sequence<int, Model::stages>>::Type;

  //! Of a value between stages.
  static constexpr std::size_t most_arrays =
      []<int... stage>(std::integer_sequence<int, stage...>) {
    return std::max({std::size_t{1}, StageValue<nn::OutputOf<Stage<stage>, D>>::arrays...});
  }
  (std::make_integer_sequence<int, Model::stages - 1>{});

  struct LossStore {
    typename Loss::template Saved<D> saved;
    LayoutPointer<D> layout;
  };

  struct Sent {
    Tensor<float, D> numbers;  // stay until they have arrived
    typename DeviceC::Transfer transfer;
  };

  [[nodiscard]] int rank() const { return activations_.rank(); }

  void begin(const TableView& table, const Pass& pass, std::size_t micro_batches) {
    table_ = table;
    pass_ = pass;
    std::apply([&](auto&... store) { (store.assign(micro_batches, {}), ...); }, stores_);
    losses_.assign(micro_batches, {});
    put_off_.clear();
    put_off_.resize(micro_batches * static_cast<std::size_t>(Model::stages));
    here_.assign(static_cast<std::size_t>(table.places()), {});
  }

  //! Calls `f.template operator()<stage>()` for a stage that is known only now.
  template <class F>
  static void in_stage(int stage, const F& f) {
    [&]<int... i>(std::integer_sequence<int, i...>) {
      ((i == stage ? f.template operator()<i>() : void()), ...);
    }
    (std::make_integer_sequence<int, Model::stages>{});
  }

  [[nodiscard]] nn::Context<D> context() const {
    auto ctx = pass_.gradients == nullptr
                   ? nn::Context<D>(*device_, pass_.values)
                   : nn::Context<D>(*device_, pass_.values, *pass_.gradients, pass_.key, nullptr,
                                    static_cast<float>(pass_.loss_scale));
    ctx.read_weights(pass_.weights);
    return ctx;
  }

  [[nodiscard]] nn::PutOff& put_off(Action action) {
    return put_off_[static_cast<std::size_t>(action.micro_batch() * Model::stages +
                                             action.stage())];
  }

  //! `turns_back`: this micro-batch's backward is this rank's next action.
  template <int stage, class MicroBatch>
  void forward(Action action, const MicroBatch& part, LossSum& loss, bool turns_back) {
    const auto m = static_cast<std::size_t>(action.micro_batch());
    auto ctx = context();
    auto x = [&] {
      if constexpr (stage == 0) {
        return part.input;
      } else {
        return value_for<nn::InputOf<Stage<stage>, D>>(action, part);
      }
    }();
    auto [y, saved] = objective_->model().template stage<stage>().forward(ctx, x);
    if (ctx.training()) {
      Store<stage>& store = std::get<stage>(stores_)[m];
      store.recomputes =
          recompute_ == Recompute::always || (recompute_ == Recompute::except_last && !turns_back);
      if (store.recomputes) {
        store.input = std::move(x);
        saved = {};
      } else {
        store.saved = std::move(saved);
      }
    }
    if constexpr (stage + 1 < Model::stages) {
      hand_on<decltype(y)>(action, y, part);
    } else {
      auto [sum, saved_loss] = objective_->loss().forward(ctx, y, part.labels);
      loss = sum;
      if (ctx.training()) losses_[m] = {std::move(saved_loss), y.layout};
    }
  }

  template <int stage, class MicroBatch>
  void backward(Action action, const MicroBatch& part) {
    const auto m = static_cast<std::size_t>(action.micro_batch());
    auto ctx = context();
    const auto dy = [&] {
      if constexpr (stage + 1 == Model::stages) {
        LossStore store = std::exchange(losses_[m], {});
        return objective_->loss().backward(ctx, std::move(store.saved), store.layout);
      } else {
        return value_for<nn::OutputOf<Stage<stage>, D>>(action, part);
      }
    }();
    if (table_.splits_backward) ctx.put_off_gradients(put_off(action));
    Store<stage> store = std::exchange(std::get<stage>(stores_)[m], {});
    const auto& layers = objective_->model().template stage<stage>();
    if (store.recomputes) store.saved = layers.forward(ctx, std::exchange(store.input, {})).saved;
    if constexpr (stage == 0) {
      static_cast<void>(layers.backward(ctx, std::move(store.saved), dy));
    } else {
      const auto dx = layers.backward(ctx, std::move(store.saved), dy);
      hand_on<std::remove_cvref_t<decltype(dx)>>(action, dx, part);
    }
  }

  //! What an action computed goes to the stage that waits for it.
  template <class Value, class MicroBatch>
  void hand_on(Action action, const Value& value, const MicroBatch& part) {
    const auto arrays = StageValue<Value>::numbers(value);
    const auto shapes = StageValue<Value>::shapes(part.input);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].shape() == shapes[i]) continue;
      throw ShapeError(text("pipeline: stage ", action.stage(), " hands on ", arrays[i].shape(),
                            ", and the next one expects ", shapes[i],
                            ", as many rows as the micro-batch's input has"));
    }
    if constexpr (requires { value.layout; }) {
      if (value.layout != nullptr && value.layout != detail::layout_of(part.input)) {
        throw ShapeError(text("pipeline: stage ", action.stage(),
                              " hands on rows of other sequences than the micro-batch's input has, "
                              "and the next one would take them for those"));
      }
    }
    while (!sent_.empty() && sent_.front().transfer.done()) sent_.pop_front();
    const Action taker = consumer(action);
    const int to = table_.rank_of(taker.stage());
    if (to == rank()) {
      std::ranges::copy(arrays, here(taker).begin());
      return;
    }
    for (const Tensor<float, D>& numbers : arrays) {
      Sent& sent = sent_.emplace_back();
      sent.numbers = numbers;
      const comm::Message messages[] = {comm::send_to(to, numbers.data(), numbers.size())};
      link(taker).post(messages, purpose(taker), sent.transfer);
    }
  }

  //! What an action needs of another stage.
  template <class Value, class MicroBatch>
  [[nodiscard]] Value value_for(Action action, const MicroBatch& part) {
    constexpr std::size_t n = StageValue<Value>::arrays;
    StageNumbers<n, D> arrays;
    const int from = table_.rank_of(producer(action).stage());
    if (from == rank()) {
      auto kept = std::exchange(here(action), {});
      std::move(kept.begin(), kept.begin() + n, arrays.begin());
      return StageValue<Value>::of(std::move(arrays), part.input);
    }
    const auto shapes = StageValue<Value>::shapes(part.input);
    for (std::size_t i = 0; i < n; ++i) {
      arrays[i] = Tensor<float, D>(*device_, shapes[i]);
      const comm::Message messages[] = {
          comm::receive_from(from, arrays[i].data(), arrays[i].size())};
      try {
        link(action).post(messages, purpose(action), received_);
        wait(received_, "wait for micro-batch", action.micro_batch());
      } catch (...) {
        received_ = {};  // before the memory goes
        throw;
      }
    }
    return StageValue<Value>::of(std::move(arrays), part.input);
  }

  //! Over NCCL a transfer begins when the device has done what was queued before, and that is no
  //! waiting for another rank.
  void wait(typename DeviceC::Transfer& transfer, const char* what, index_t number = -1) {
    device_->synchronize();
    exposed_.wait(transfer, *device_, what, number);
  }

  //! What goes to a stage of the same rank.
  [[nodiscard]] StageNumbers<most_arrays, D>& here(Action taker) {
    return here_[static_cast<std::size_t>(table_.place_of(taker))];
  }

  [[nodiscard]] DeviceC& link(Action taker) {
    return taker.work() == Work::forward ? activations_ : gradients_;
  }
  [[nodiscard]] comm::Purpose purpose(Action taker) const {
    return {taker.work() == Work::forward ? "forward" : "backward", "micro-batch",
            taker.micro_batch(), pass_.update};
  }

  D* device_;
  DeviceC activations_;  // two channels, since of two ranks either sends the other both
  DeviceC gradients_;
  const Objective* objective_;
  Recompute recompute_;
  TableView table_{};  // of the batch under way, as all that follows
  Pass pass_{};
  Stores stores_;
  std::vector<LossStore> losses_;
  std::vector<nn::PutOff> put_off_;
  std::vector<StageNumbers<most_arrays, D>> here_;
  std::deque<Sent> sent_;
  typename DeviceC::Transfer received_{};
  comm::ExposedTime exposed_;
  Trace* trace_ = nullptr;
};

}  // namespace weft::parallel
