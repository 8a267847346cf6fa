// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How a pipeline's table runs: when each action ends, and what is in memory.
#pragma once

#include <algorithm>
#include <span>

#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! What a stage's work on a micro-batch costs, in any unit. Messages cost nothing.
struct Costs {
  int forward = 1;
  int backward = 1;          //!< of the input's gradient
  int weight_gradients = 1;  //!< which are part of backward where they have no turn apart

  [[nodiscard]] constexpr int all() const { return forward + backward + weight_gradients; }
  [[nodiscard]] constexpr int of(Work work, bool splits_backward) const {
    if (work == Work::forward) return forward;
    if (work == Work::weight_gradients) return weight_gradients;
    return splits_backward ? backward : backward + weight_gradients;
  }
};

//! The end of an action that has not come.
inline constexpr int never = -1;

//! When all has ended, or `never`, if some rank waits for what comes only after it. Micro-batches
//! from `micro_batches` on are left out, as in a short batch.
//!
//! **Shapes.** ends: at the action's place, `table.places()` in all; `never` for what did not run.
[[nodiscard]] constexpr int simulate(const TableView& table, const Costs& costs, int micro_batches,
                                     std::span<int> ends, std::span<int> next_of_rank) {
  for (int& end : ends) end = never;
  for (int& next : next_of_rank) next = 0;
  const auto end_of = [&](Action action) -> int& {
    return ends[static_cast<std::size_t>(table.place_of(action))];
  };
  // The end of what an action needs: never, if that has not run.
  const auto ready = [&](Action action) {
    int last = 0;
    const auto need = [&](Action other) {
      const int end = end_of(other);
      last = last == never || end == never ? never : std::max(last, end);
    };
    if (action.work() == Work::weight_gradients) {
      need({Work::backward, action.stage(), action.micro_batch()});
    } else {
      if (has_producer(table, action)) need(producer(action));
      if (action.work() == Work::backward) {
        need({Work::forward, action.stage(), action.micro_batch()});
      }
    }
    return last;
  };
  int makespan = 0;
  bool moves = true;
  bool waits = true;
  while (moves && waits) {
    moves = waits = false;
    for (int rank = 0; rank < table.ranks; ++rank) {
      const auto order = table.of(rank);
      int& next = next_of_rank[static_cast<std::size_t>(rank)];
      int now = 0;
      if (next > 0) now = end_of(order[static_cast<std::size_t>(next - 1)]);
      while (next < static_cast<int>(order.size())) {
        const Action action = order[static_cast<std::size_t>(next)];
        if (action.micro_batch() >= micro_batches) {
          end_of(action) = now;  // left out
        } else {
          const int start = ready(action);
          if (start == never) break;
          now = std::max(now, start) + costs.of(action.work(), table.splits_backward);
          end_of(action) = now;
        }
        ++next;
        moves = true;
      }
      makespan = std::max(makespan, now);
      waits = waits || next < static_cast<int>(order.size());
    }
  }
  return waits ? never : makespan;
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
