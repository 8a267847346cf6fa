// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How a pipeline's table runs: when each action ends, and what is in memory.
#pragma once

#include <algorithm>
#include <span>

#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! What a stage's work on a micro-batch costs, in any unit in which an int holds the time that a
//! whole table takes. Messages cost nothing.
struct Costs {
  int forward = 1;           //!< of the output
  int backward = 1;          //!< of the input's gradient
  int weight_gradients = 1;  //!< which are part of backward where they have no turn apart

  //! Of one micro-batch in one stage.
  [[nodiscard]] constexpr int all() const { return forward + backward + weight_gradients; }
  //! What an action costs.
  [[nodiscard]] constexpr int of(Work work, bool splits_backward) const {
    if (work == Work::forward) return forward;
    if (work == Work::weight_gradients) return weight_gradients;
    return splits_backward ? backward : backward + weight_gradients;
  }
};

//! The end of an action that has not come.
inline constexpr int no_end = -1;

namespace detail {

//! When what an action needs has ended; `no_end`, if it has not. `end` is the action's own place
//! among the ends: those of neighbouring stages and works lie at fixed distances (see
//! `TableView::place_of`), which spares the compiler half of the steps.
[[nodiscard]] constexpr int ready_at(const TableView& table, Action action, const int* end) {
  const int to_next_stage = table.micro_batches;
  const int to_next_work = table.stages * table.micro_batches;
  if (action.work() == Work::weight_gradients) return end[-to_next_work];
  if (action.work() == Work::forward) return action.stage() == 0 ? 0 : end[-to_next_stage];
  const int forward = end[-to_next_work];
  const int behind = action.stage() + 1 == table.stages ? 0 : end[to_next_stage];
  if (forward == no_end || behind == no_end) return no_end;
  return forward > behind ? forward : behind;
}

}  // namespace detail

//! When all has ended, or `no_end`, if some rank waits for what comes only after it. Micro-batches
//! from `micro_batches` on are left out, as in a short batch.
//!
//! **Shapes.** ends: at the action's place, `table.places()` in all; `no_end` for what waits for
//! ever, and for what is left out the end of what comes before it.
[[nodiscard]] constexpr int simulate(const TableView& table, const Costs& costs, int micro_batches,
                                     std::span<int> ends, std::span<int> next_of_rank) {
  for (int& end : ends) end = no_end;
  for (int& next : next_of_rank) next = 0;
  int* const end_at = ends.data();
  int* const next_at = next_of_rank.data();
  int makespan = 0;
  bool moves = true;
  bool waits = true;
  while (moves && waits) {
    moves = waits = false;
    for (int rank = 0; rank < table.ranks; ++rank) {
      const Action* const order = table.actions + table.stride * rank;
      const int count = table.counts[rank];
      int next = next_at[rank];
      int now = next > 0 ? end_at[table.place_of(order[next - 1])] : 0;
      for (; next < count; ++next) {
        const Action action = order[next];
        int* const end = end_at + table.place_of(action);
        if (action.micro_batch() < micro_batches) {
          const int start = detail::ready_at(table, action, end);
          if (start == no_end) break;
          now = (start > now ? start : now) + costs.of(action.work(), table.splits_backward);
        }
        *end = now;
      }
      moves = moves || next > next_at[rank];
      waits = waits || next < count;
      next_at[rank] = next;
      makespan = now > makespan ? now : makespan;
    }
  }
  return waits ? no_end : makespan;
}

//! The most micro-batches whose activations a rank holds, each stage's on their own: from forward
//! to `last`.
[[nodiscard]] constexpr int live_micro_batches(const TableView& table, int rank, Work last) {
  int live = 0;
  int most = 0;
  for (const Action action : table.of(rank)) {
    if (action.work() == Work::forward) most = std::max(most, ++live);
    if (action.work() == last) --live;
  }
  return most;
}

}  // namespace weft::parallel
