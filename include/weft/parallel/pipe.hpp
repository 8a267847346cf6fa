// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A model cut into stages, with the schedule by which ranks run them.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/nn/checkpoint.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/schedule/proof.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

namespace detail {

//! Checks stages that follow each other; the errors name the two that do not meet.
template <class... Stages>
struct StageChain;

template <class Stage>
struct StageChain<Stage> {
  static_assert(sizeof(nn::CheckModule<Stage>) > 0);
};

template <class Before, class After, class... Stages>
struct StageChain<Before, After, Stages...> {
  static_assert(sizeof(StageChain<Before>) > 0 && sizeof(StageChain<After, Stages...>) > 0);
  static_assert(
      nn::readers_agree<Before, After>,
      "what several modules read, such as an encoder's output, must be read by exactly as "
      "many as it was made for, each once");
  static_assert(nn::modules_meet<Before, After>,
                "two stages of a Pipe do not meet: each must read what the one before it writes");
  static_assert(!nn::CheckModule<After>::returns_nothing(),
                "only the first stage of a Pipe may return nothing from backward: each other "
                "returns the gradient of its input, for the one before it");
};

//! A module of a stage that is computed again.
template <class M>
struct Again {
  M* module;

  template <class Visit>
  static constexpr void members(Again& self, Visit&& visit) {
    visit.whole("", *self.module);
  }
};

//! Whether a stage is a Sequential, and references to its modules: to be shown one by one, in the
//! way in which the stage would show them.
template <class Stage>
struct InOrder {
  static constexpr bool known = false;
};
template <class... Ms>
struct InOrder<nn::Sequential<Ms...>> {
  static constexpr bool known = true;
  static constexpr auto of(auto& stage) {
    return std::apply([](auto&... module) { return std::tie(module...); }, stage.modules);
  }
};
template <class... Ms>
struct InOrder<nn::Checkpoint<nn::Sequential<Ms...>>> {
  static constexpr bool known = true;
  static constexpr auto of(auto& stage) {
    return std::apply(
        [](auto&... module) {
          return std::tuple(Again<std::remove_reference_t<decltype(module)>>{&module}...);
        },
        stage.module.modules);
  }
};

//! The stages' Sequential, once they were found to meet: errors then speak of stages.
template <class S, class... Stages>
struct Checked {
  static_assert(Schedule<S>,
                "a Pipe begins with its schedule: Pipe<OneForwardOneBackward<8>, Stage0, Stage1>");
  static_assert(sizeof...(Stages) > 0, "a Pipe needs stages: Pipe<GPipe<8>, Stage0, Stage1>");
  static_assert(sizeof(StageChain<Stages...>) > 0);
  using Type = nn::Sequential<Stages...>;
};

}  // namespace detail

//! Modules one after the other, each of which may run on a rank of its own.
//!
//!     using Model = Pipe<OneForwardOneBackward<8>, FirstHalf, SecondHalf>;
//!
//! It is a Sequential of its stages, and any strategy trains it as such. `PipelineParallel` runs
//! stage s on rank s % P, by the schedule's table, which the compiler has proven. `Stages` are as
//! many as the schedule has on each of P ranks.
template <class S, class... Stages>
struct Pipe : detail::Checked<S, Stages...>::Type {
  //! The schedule's type.
  using ScheduleType = S;
  //! How many stages there are.
  static constexpr int stages = static_cast<int>(sizeof...(Stages));
  //! How many ranks run it.
  static constexpr int ranks = stages / S::stages_of_rank;

  static_assert(
      stages > 0 && stages % S::stages_of_rank == 0,
      "a Pipe needs as many stages on each rank as its schedule says: Interleaved<M, V> runs "
      "V, 2 V, 3 V, ... stages on 1, 2, 3, ... ranks");
  static_assert(sizeof(Proof<S, ranks>) > 0);

  constexpr Pipe() = default;
  //! Of these stages.
  constexpr explicit Pipe(const Stages&... in_order) : nn::Sequential<Stages...>(in_order...) {}

  //! Stages that are Sequentials, or Checkpoints of them, count their modules on, so that
  //! parameters are named, and saved, as those of the model that was cut, wherever it was.
  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    if constexpr ((detail::InOrder<Stages>::known && ...)) {
      auto in_order = std::apply(
          [](auto&... stage) {
            return std::tuple_cat(
                detail::InOrder<std::remove_cvref_t<decltype(stage)>>::of(stage)...);
          },
          self.modules);
      visit("", in_order);
    } else {
      visit("", self.modules);
    }
  }

  //! Stage I.
  template <int I>
  [[nodiscard]] constexpr const auto& stage() const {
    return std::get<static_cast<std::size_t>(I)>(this->modules);
  }

  //! What each rank does in an update.
  [[nodiscard]] static constexpr TableView table() { return table_of<S, ranks>.view(); }
};

//! A Pipe of these stages.
template <Schedule S, class... Stages>
[[nodiscard]] constexpr Pipe<S, Stages...> make_pipe(const Stages&... in_order) {
  return Pipe<S, Stages...>(in_order...);
}

//! Whether a model is a Pipe.
template <class Model>
inline constexpr bool is_pipe = false;
//! A Pipe is one.
template <class S, class... Stages>
inline constexpr bool is_pipe<Pipe<S, Stages...>> = true;

}  // namespace weft::parallel

namespace weft {
using parallel::Pipe;
}
