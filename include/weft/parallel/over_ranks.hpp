// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What strategies ask their ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/check_same.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/parameter_layout.hpp>
#include <weft/parallel/recipe.hpp>

namespace weft::parallel {

//! What ranks that train together have to agree on, of a recipe.
[[nodiscard]] inline comm::Facts facts_of(const Recipe& recipe) {
  return {{"seed", text(recipe.seed)},
          {"lanes", text(recipe.lanes)},
          {"micro-batches", text(recipe.micro_batches)},
          {"clip_norm", text(recipe.clip_norm)},
          {"loss_scaling", loss_scaling_text(recipe)}};
}

//! The same of an optimizer: its settings, or the buffers that it keeps.
template <class Optimizer>
[[nodiscard]] comm::Facts facts_of_optimizer(const Optimizer& optimizer) {
  comm::Facts facts;
  std::string buffers;
  for (const auto& name : Optimizer::state_names) buffers += text(name, " ");
  facts.emplace_back("optimizer's buffers", buffers);
  if constexpr (requires { to_text(optimizer.settings()); }) {
    facts.emplace_back("optimizer", to_text(optimizer.settings()));
  }
  return facts;
}

//! The same of an objective, apart from where its parameters lie.
template <class Objective>
[[nodiscard]] comm::Facts facts_of_objective(const Objective& objective) {
  comm::Facts facts;
  std::string dropout;
  for (const float probability : nn::dropout_probabilities(objective)) {
    dropout += text(probability, " ");
  }
  facts.emplace_back("dropout", dropout);
  Fingerprint trained;
  for (const auto& [name, p] : nn::named_parameters(objective)) {
    trained.add(name).add(std::uint64_t{p.trained}).add(p.rate_scale).add(p.decay_scale);
  }
  facts.emplace_back("frozen parameters and groups", text(trained.value()));
  if constexpr (requires { objective.loss().criterion.smoothing; }) {
    facts.emplace_back("label smoothing", text(objective.loss().criterion.smoothing));
  }
  if constexpr (requires { objective.loss().criterion.ignored; }) {
    facts.emplace_back("ignored label", text(objective.loss().criterion.ignored));
  }
  return facts;
}

//! Throws on all ranks unless they agree on how they train: on what the strategy itself asks, then
//! on the recipe, the objective and the optimizer. All ranks ask.
template <comm::Communicator C, class Objective, class Optimizer>
void check_same_training(C& communicator, comm::Facts facts, const Recipe& recipe,
                         const Objective& objective, const Optimizer& optimizer) {
  for (comm::Facts& more :
       std::array{facts_of(recipe), facts_of_objective(objective), facts_of_optimizer(optimizer)}) {
    std::ranges::move(more, std::back_inserter(facts));
  }
  comm::check_same(communicator, facts);
}

//! What `f()` returns. What it throws ends all ranks: they would wait for this one, or pair what
//! they do with what it does next. Only RanksDiffer does not, as all of them find that.
template <comm::Communicator C, class F>
decltype(auto) end_all_on_failure(C& communicator, const F& f) {
  try {
    return f();
  } catch (const comm::RanksDiffer&) {
    throw;
  } catch (...) {  // if it is these ranks' CommunicatorAborted, they know
    if (communicator.size() > 1) {
      communicator.abort(communicator.rank(), message_of(std::current_exception()));
    }
    throw;
  }
}

//! Has all parameters on every rank while it, or another of the same strategy, lives; afterwards
//! each rank has its own again.
template <class Strategy>
class WholeValues {
 public:
  //! All ranks make it. **Errors.** CommunicatorAborted.
  explicit WholeValues(Strategy& strategy) : strategy_(&strategy) {
    if (strategy.wholes_ == 0) strategy.acquire_all();
    ++strategy.wholes_;
  }
  WholeValues(const WholeValues&) = delete;
  WholeValues& operator=(const WholeValues&) = delete;
  ~WholeValues() {
    if (--strategy_->wholes_ == 0) strategy_->release_all();
  }

 private:
  Strategy* strategy_;
};

//! The base of strategies with ranks, as OneProcess is of those without.
//!
//! **Errors.** CommunicatorAborted from what all ranks call. What is thrown on one rank in
//! `accumulate`, `step` or `evaluate` ends the communicator on all of them.
template <class C>
class OverRanks {
  static_assert(
      comm::Communicator<C>,
      "the last argument of a strategy over ranks is its communicator's type, such as "
      "comm::ThreadCommunicator: <Model, Loss, Zero<0>, optim::Adam, Cpu, C>; one of your "
      "own has all that comm::Communicator asks for");

 public:
  //! It must outlive the strategy.
  explicit OverRanks(C& communicator) : communicator_(&communicator) {}

  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int ranks() const { return communicator_->size(); }

  //! Whether this rank writes files and reports.
  [[nodiscard]] bool is_root() const { return rank() == 0; }

  //! Adds a few numbers of all ranks, of the same bits on each. All ranks call it.
  template <class T>
  void add_over_ranks(std::span<T> numbers) {
    comm::all_reduce(*communicator_, numbers, {"all_reduce", "numbers"});
  }

  //! Whether it is so on any rank. All ranks ask.
  [[nodiscard]] bool on_any_rank(bool here) {
    int ranks = here ? 1 : 0;
    comm::all_reduce(*communicator_, std::span(&ranks, 1), {"all_reduce", "a question"});
    return ranks > 0;
  }

  //! What the first rank says. All ranks ask.
  [[nodiscard]] std::string text_of_root(std::string said) {
    return comm::broadcast_text(*communicator_, std::move(said), 0);
  }

  //! What every rank says, by rank. All ranks ask.
  [[nodiscard]] std::vector<std::string> texts_of_all(std::string said) {
    std::vector<std::string> texts;
    for (int rank = 0; rank < ranks(); ++rank) {
      texts.push_back(comm::broadcast_text(*communicator_, said, rank));
    }
    return texts;
  }

  //! Throws on all ranks unless all have the same facts. All ranks ask.
  void check_same(const comm::Facts& facts) { comm::check_same(*communicator_, facts); }

  //! Brings the parameters that a rank updates to all that read them: nothing, unless the strategy
  //! says otherwise, as every rank updates all of them.
  static constexpr void share_values() {}

  //! What `f()` returns, as `end_all_on_failure`: for what every rank does a part of.
  template <class F>
  decltype(auto) together(const F& f) {
    return end_all_on_failure(*communicator_, f);
  }

 protected:
  //! **Errors.** Error while `whole_values` holds parameters, which new ones would leave as they
  //! were.
  void expect_no_whole(const char* function) const {
    if (wholes_ == 0) return;
    throw Error(text(function,
                     ": what whole_values() returned still lives, and an update would not reach "
                     "the parameters that it holds: let its scope end before"));
  }

  //! The first values of rank 0: other machines may round logarithms and cosines otherwise.
  template <class Objective>
  [[nodiscard]] std::vector<float> values_of_root(const Objective& objective, std::uint64_t seed) {
    auto values = together([&] {
      if (is_root()) return nn::initial_values(objective.layout(), seed, objective);
      return std::vector<float>(static_cast<std::size_t>(objective.layout().values));
    });
    comm::broadcast(*communicator_, std::span(values), 0, {"broadcast", "parameters"});
    return values;
  }

  C* communicator_;  //!< the ranks
  int wholes_ = 0;   //!< how many live that `whole_values` returned
};

}  // namespace weft::parallel
