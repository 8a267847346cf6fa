// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The moving average of a strategy's parameters in their place.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::parallel {

namespace detail {

//! Has the average in the place of the parameters of a TrainingState until `put_back`.
template <class State>
class AverageInPlace {
  using Values = std::remove_cvref_t<decltype(std::declval<State&>().values())>;

 public:
  //! Of the parameters that this rank updates; its others are to be shared.
  explicit AverageInPlace(State& state) : state_(&state) {
    const Values& values = state.values();
    auto& device = values.device();
    for (const Range range : state.present()) {
      kept_.emplace_back(range, Values(device, {range.size()}));
      device.copy(kept_.back().second.data(), values.data() + range.begin, bytes(range));
    }
    for (const Range range : state.owned()) {
      device.copy(values.data() + range.begin, state.average().data() + state.place_of(range.begin),
                  bytes(range));
    }
    device.synchronize();  // other devices may read them
    state.set_averaged(true);
  }

  void put_back() {
    const Values& values = state_->values();
    for (const auto& [range, copy] : kept_) {
      values.device().copy(values.data() + range.begin, copy.data(), bytes(range));
    }
    values.device().synchronize();
    state_->set_averaged(false);
  }

 private:
  static index_t bytes(Range range) { return range.size() * index_t{sizeof(float)}; }

  State* state_;
  std::vector<std::pair<Range, Values>> kept_;
};

}  // namespace detail

//! What `f()` returns, called with the moving average of the parameters in their place: to evaluate
//! it, to predict by it, to save it as a model. All ranks call it. Before the first update nothing
//! has been averaged, and the parameters stay; inside another call they are the average already.
//!
//! **Memory.** The trained parameters that a rank has all the time, once more.
//! **Cost.** Copies them twice. With N ranks under `Zero<1>` and `Zero<2>` a rank sends its share
//! of them N - 1 times, in pipelines what `step` sends of values; else nothing.
//! **Errors.** What `f` throws; the parameters are then back too. Error from `step` and
//! `accumulate`, and from what saves or loads a state or loads a model, inside `f`; Error while
//! what the strategy's `whole_values` returned lives.
template <class Strategy, class F>
auto with_average(Strategy& strategy, const F& f) {
  auto& state = strategy.state();
  using State = std::remove_reference_t<decltype(state)>;
  using Result = std::decay_t<std::invoke_result_t<const F&>>;
  static_assert(
      State::keeps_average,
      "the strategy's optimizer keeps no average: optim::MovingAverage<optim::Adam> does");
  if constexpr (!State::keeps_average) {
    return;
  } else if constexpr (std::is_void_v<Result>) {
    static_cast<void>(with_average(strategy, [&] {
      f();
      return 0;
    }));
  } else {
    if (state.updates() == 0 || state.is_averaged()) return Result(f());
    detail::AverageInPlace<State> average(state);
    std::optional<Result> result;
    try {
      strategy.share_values();
      result.emplace(f());
    } catch (...) {
      average.put_back();
      throw;
    }
    average.put_back();
    return std::move(*result);
  }
}

}  // namespace weft::parallel
