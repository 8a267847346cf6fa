// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The concept of a strategy, and a sentence for each part of it that one of your own lacks.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/parallel/loss_sum.hpp>
#include <weft/parallel/recipe.hpp>
#include <weft/parallel/training_state.hpp>

namespace weft::parallel {

//! Takes a TrainingState; declared only. (In the concept a lambda takes none, to nvcc.)
template <class Optimizer, class D>
void take_training_state(const TrainingState<Optimizer, D>&);

//! Whether a strategy says what it trains, by which recipe, and how far it is.
template <class S>
concept SaysWhatItTrains = requires(S& strategy) {
  requires nn::Module<std::remove_cvref_t<decltype(strategy.objective())>>;
  { strategy.objective().layout() } -> std::convertible_to<const nn::ParameterLayout&>;
  { strategy.recipe() } -> std::convertible_to<const Recipe&>;
  take_training_state(strategy.state());
  requires std::is_lvalue_reference_v<decltype(strategy.state())>;
};

//! Whether a strategy shows its devices: `on_devices(f)` calls `f(device, index)` on the worker of
//! each one, and returns when all have ended.
template <class S>
concept ShowsDevices = requires(S& strategy, const S& shown) {
  { shown.devices() } -> std::convertible_to<int>;
  requires std::is_lvalue_reference_v<decltype(shown.device(0))>;
  requires requires(void (*f)(decltype(strategy.device(0)), int)) { strategy.on_devices(f); };
};

//! Whether a strategy asks its ranks, as OneProcess and OverRanks do for those that derive of them.
template <class S>
concept AsksRanks = requires(S& strategy, bool here, std::string said, const comm::Facts& facts,
                             std::span<double> numbers, std::span<index_t> counts,
                             std::span<token_t> tokens, int (*f)()) {
  { strategy.rank() } -> std::convertible_to<int>;
  { strategy.ranks() } -> std::convertible_to<int>;
  { strategy.is_root() } -> std::convertible_to<bool>;
  { strategy.on_any_rank(here) } -> std::convertible_to<bool>;
  { strategy.text_of_root(said) } -> std::convertible_to<std::string>;
  { strategy.texts_of_all(said) } -> std::convertible_to<std::vector<std::string>>;
  strategy.check_same(facts);
  strategy.add_over_ranks(numbers);
  strategy.add_over_ranks(counts);
  strategy.add_over_ranks(tokens);
  { strategy.together(f) } -> std::convertible_to<int>;
};

//! Whether a strategy says on which ranks its parameters are: `whole_values()` returns what has
//! all of them in `state().values()` while it lives; `saved_here()`, in ascending order, those that
//! this rank writes into files; `share_values()` brings what each rank updates to all that read it.
template <class S>
concept PlacesParameters = requires(S& strategy) {
  requires !std::is_void_v<decltype(strategy.whole_values())>;
  { strategy.saved_here() } -> std::convertible_to<std::vector<Range>>;
  strategy.share_values();
};

//! How the micro-batches of a batch are computed, and where: what saves and asks a model takes any
//! one of these, what trains it one that `TrainsOn` the batch.
template <class S>
concept Strategy = SaysWhatItTrains<S> && ShowsDevices<S> && AsksRanks<S> && PlacesParameters<S>;

//! Whether a strategy trains on a batch, and evaluates one.
//!
//! **Semantics.** All ranks call both, with the same batch, and are told the loss of the whole.
template <class S, class B>
concept TrainsOn = requires(S& strategy, const B& batch, double rate) {
  { strategy.step(batch, rate) } -> std::convertible_to<StepReport>;
  { strategy.evaluate(batch) } -> std::convertible_to<LossSum>;
};

//! Compiles if `S` is a strategy that trains on a batch.
template <class S, class B>
struct CheckStrategy {
  static_assert(SaysWhatItTrains<S>,
                "a strategy has an objective(), a parallel::Objective or the like; a recipe(), a "
                "parallel::Recipe; and a state(), its parallel::TrainingState, by reference");
  static_assert(ShowsDevices<S>,
                "a strategy has devices(), their number, device(index), by reference, and "
                "on_devices(f), which calls f(device, index) on each");
  static_assert(AsksRanks<S>,
                "a strategy asks its ranks as parallel::OverRanks<Communicator> does, or "
                "parallel::OneProcess where it has none: derive it of one, publicly");
  static_assert(PlacesParameters<S>,
                "a strategy has whole_values(), saved_here(), the std::vector<Range> of the "
                "parameters that this rank writes into files, and share_values(); without ranks "
                "parallel::OneProcess has the first and the last");
  static_assert(TrainsOn<S, B>,
                "a strategy has step(batch, rate), which returns a parallel::StepReport, and "
                "evaluate(batch), which returns a parallel::LossSum");
};

}  // namespace weft::parallel
