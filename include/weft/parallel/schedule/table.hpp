// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The order of work on every rank of a pipeline.
#pragma once

#include <span>

#include <weft/core/error.hpp>
#include <weft/parallel/schedule/action.hpp>

namespace weft::parallel {

//! A table that is looked at, whoever holds it. Stage s is on rank s % ranks.
struct TableView {
  const Action* actions = nullptr;  //!< of rank r: `counts[r]` from `stride` * r on
  const int* counts = nullptr;      //!< how many actions each rank has
  int stride = 0;                   //!< the longest order that there is room for
  int ranks = 0;                    //!< P
  int stages = 0;                   //!< over all ranks
  int micro_batches = 0;            //!< M
  bool splits_backward = false;  //!< weight gradients have turns of their own

  //! A rank's actions, in order.
  [[nodiscard]] constexpr std::span<const Action> of(int rank) const {
    return {actions + stride * rank, static_cast<std::size_t>(counts[rank])};
  }
  //! The rank that has a stage.
  [[nodiscard]] constexpr int rank_of(int stage) const { return stage % ranks; }

  //! How many numbers `place_of` gives.
  [[nodiscard]] constexpr int places() const { return 3 * stages * micro_batches; }

  //! A number for each action that a table of this size may have.
  [[nodiscard]] constexpr int place_of(Action action) const {
    return (static_cast<int>(action.work()) * stages + action.stage()) * micro_batches +
           action.micro_batch();
  }
};

namespace detail {

//! What the compiler names where a schedule puts more into a Table than it has room for.
[[noreturn]] inline void a_rank_has_more_actions_than_the_table_has_room_for(int rank,
                                                                             int longest) {
  throw ArgumentError(text("Table: rank ", rank, " has more than ", longest, " actions"));
}

}  // namespace detail

//! A table of `ranks` ranks, with at most `longest` actions each, that the compiler can make.
template <int ranks, int longest>
struct Table {
  int stages = 0;                        //!< over all ranks
  int micro_batches = 0;                 //!< M
  bool splits_backward = false;          //!< whether weight gradients have turns of their own
  int counts[ranks] = {};                //!< how many actions each rank has
  Action actions[ranks * longest] = {};  //!< rank after rank

  //! Puts an action behind a rank's others.
  //!
  //! **Errors.** ArgumentError if there is no more room.
  constexpr void add(int rank, Action action) {
    if (counts[rank] == longest) {
      detail::a_rank_has_more_actions_than_the_table_has_room_for(rank, longest);
    }
    actions[rank * longest + counts[rank]++] = action;
  }

  //! The table as programs read it. It must not outlive this.
  [[nodiscard]] constexpr TableView view() const& {
    return {actions, counts, longest, ranks, stages, micro_batches, splits_backward};
  }
  //! None of a temporary, which it would outlive: `table_of` keeps a schedule's table.
  TableView view() const&& = delete;
};

//! The action that waits for a message of this one, if `has_consumer`: the next stage's forward, or
//! the backward of the one before.
[[nodiscard]] constexpr Action consumer(Action action) {
  return {action.work(), action.stage() + (action.work() == Work::forward ? 1 : -1),
          action.micro_batch()};
}
//! Whether another action waits for this one's message.
[[nodiscard]] constexpr bool has_consumer(const TableView& table, Action action) {
  if (action.work() == Work::forward) return action.stage() + 1 < table.stages;
  return action.work() == Work::backward && action.stage() > 0;
}

//! The action whose message this one waits for, if `has_producer`.
[[nodiscard]] constexpr Action producer(Action action) {
  return {action.work(), action.stage() - (action.work() == Work::forward ? 1 : -1),
          action.micro_batch()};
}
//! Whether this action waits for another one's message.
[[nodiscard]] constexpr bool has_producer(const TableView& table, Action action) {
  if (action.work() == Work::forward) return action.stage() > 0;
  return action.work() == Work::backward && action.stage() + 1 < table.stages;
}

}  // namespace weft::parallel
