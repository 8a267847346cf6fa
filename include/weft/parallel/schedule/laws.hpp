// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What every table of a pipeline has to keep.
//!
//! A rank posts a message as soon as it has computed it, and waits for one where it needs it; on
//! the way from one rank to another messages keep their order. A table whose laws hold then runs to
//! its end, whatever takes how long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weft/core/text.hpp>
#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! How a table breaks a law, and where first.
struct TableFault {
  //! The law that is broken.
  enum class Kind : std::uint8_t {
    none,
    unknown,     //!< there is no such stage or micro-batch
    elsewhere,   //!< a stage's work is on a rank that does not have it
    repeated,    //!< an action is there twice
    missing,     //!< an action is not there
    deadlock,    //!< an action waits for what comes only after it
    overtaking,  //!< a message is sent before another that is waited for first
    descending,  //!< a stage's gradients are not added in ascending micro-batches
  };
  Kind kind = Kind::none;  //!< which law
  int rank = 0;            //!< whose order breaks it
  Action action{};         //!< where first
  Action other{};  //!< that is overtaken, or comes before

  //! Whether there is a fault.
  [[nodiscard]] constexpr bool found() const { return kind != Kind::none; }
};

//! Every stage has every micro-batch's forward and backward (and weight gradients, if they have
//! turns of their own) once, on the rank that has the stage.
//!
//! **Shapes.** seen: table.places(), overwritten.
[[nodiscard]] constexpr TableFault check_actions(const TableView& table, std::span<int> seen) {
  using Kind = TableFault::Kind;
  for (int& count : seen) count = 0;
  for (int rank = 0; rank < table.ranks; ++rank) {
    for (const Action action : table.of(rank)) {
      const bool apart = action.work() == Work::weight_gradients;
      if (action.stage() >= table.stages || action.micro_batch() >= table.micro_batches ||
          (apart && !table.splits_backward)) {
        return {Kind::unknown, rank, action};
      }
      if (table.rank_of(action.stage()) != rank) return {Kind::elsewhere, rank, action};
      if (seen[static_cast<std::size_t>(table.place_of(action))]++ > 0) {
        return {Kind::repeated, rank, action};
      }
    }
  }
  for (int work = 0; work < (table.splits_backward ? 3 : 2); ++work) {
    for (int stage = 0; stage < table.stages; ++stage) {
      for (int m = 0; m < table.micro_batches; ++m) {
        const Action action(static_cast<Work>(work), stage, m);
        if (seen[static_cast<std::size_t>(table.place_of(action))] == 0) {
          return {Kind::missing, table.rank_of(stage), action};
        }
      }
    }
  }
  return {};
}

//! Nothing waits for what comes only after it.
//!
//! **Shapes.** ends: table.places(); next_of_rank: table.ranks. Both are overwritten.
[[nodiscard]] constexpr TableFault check_order(const TableView& table, std::span<int> ends,
                                               std::span<int> next_of_rank) {
  if (simulate(table, {}, table.micro_batches, ends, next_of_rank) != no_end) return {};
  for (int rank = 0; rank < table.ranks; ++rank) {
    const int next = next_of_rank[static_cast<std::size_t>(rank)];
    if (next < table.counts[rank]) {
      return {TableFault::Kind::deadlock, rank, table.of(rank)[static_cast<std::size_t>(next)]};
    }
  }
  return {};
}

//! Messages from one rank to another are sent in the order in which they are waited for: those of
//! forward, and those of backward.
[[nodiscard]] constexpr TableFault check_links(const TableView& table) {
  for (const Work work : {Work::forward, Work::backward}) {
    for (int from = 0; from < table.ranks; ++from) {
      const int step = work == Work::forward ? 1 : table.ranks - 1;
      const int to = (from + step) % table.ranks;
      if (to == from) continue;
      const auto waiting = table.of(to);
      std::size_t next = 0;
      for (const Action sent : table.of(from)) {
        if (sent.work() != work || !has_consumer(table, sent)) continue;
        while (next < waiting.size() &&
               (waiting[next].work() != work || !has_producer(table, waiting[next]))) {
          ++next;
        }
        if (next == waiting.size() || waiting[next] != consumer(sent)) {
          return {TableFault::Kind::overtaking, from, sent,
                  next < waiting.size() ? producer(waiting[next]) : sent};
        }
        ++next;
      }
    }
  }
  return {};
}

//! Each stage adds to its gradients in ascending micro-batches, as one device does. In the last one
//! all work is in that order: a loss adds its own gradients in any, in chunks already in forward.
//!
//! **Shapes.** last: table.stages, overwritten.
[[nodiscard]] constexpr TableFault check_gradients(const TableView& table, std::span<int> last) {
  const Work adds = table.splits_backward ? Work::weight_gradients : Work::backward;
  for (const Work work : {Work::forward, Work::backward, Work::weight_gradients}) {
    for (int& micro_batch : last) micro_batch = -1;
    for (int rank = 0; rank < table.ranks; ++rank) {
      for (const Action action : table.of(rank)) {
        const bool has_loss = action.stage() + 1 == table.stages;
        if (action.work() != work || !(work == adds || has_loss)) continue;
        int& before = last[static_cast<std::size_t>(action.stage())];
        if (action.micro_batch() < before) {
          return {TableFault::Kind::descending, rank, action, {work, action.stage(), before}};
        }
        before = action.micro_batch();
      }
    }
  }
  return {};
}

//! The first law that a table breaks, for one that is made when the program runs.
[[nodiscard]] inline TableFault first_fault(const TableView& table) {
  std::vector<int> of_places(static_cast<std::size_t>(table.places()));
  std::vector<int> of_ranks(static_cast<std::size_t>(table.ranks));
  std::vector<int> of_stages(static_cast<std::size_t>(table.stages));
  TableFault fault = check_actions(table, of_places);
  if (!fault.found()) fault = check_order(table, of_places, of_ranks);
  if (!fault.found()) fault = check_links(table);
  if (!fault.found()) fault = check_gradients(table, of_stages);
  return fault;
}

//! Whether the table would also run if a rank waited, with each message, until the other takes it.
//! Some do not: a pipeline's sends are posted.
//!
//! **Shapes.** next_of_rank, state_of_rank: table.ranks, overwritten.
[[nodiscard]] constexpr bool runs_with_blocking_sends(const TableView& table,
                                                      std::span<int> next_of_rank,
                                                      std::span<int> state_of_rank) {
  enum : int { receiving, sending };
  for (int& next : next_of_rank) next = 0;
  for (int& state : state_of_rank) state = receiving;
  const auto elsewhere = [&](int rank, Action other) {
    return table.rank_of(other.stage()) != rank;
  };
  // Whether `rank` stands, in this state, at this action.
  const auto stands = [&](int rank, int state, Action at) {
    const auto order = table.of(rank);
    const auto next = static_cast<std::size_t>(next_of_rank[static_cast<std::size_t>(rank)]);
    return next < order.size() && state_of_rank[static_cast<std::size_t>(rank)] == state &&
           order[next] == at;
  };
  bool moves = true;
  while (moves) {
    moves = false;
    for (int rank = 0; rank < table.ranks; ++rank) {
      const auto order = table.of(rank);
      int& next = next_of_rank[static_cast<std::size_t>(rank)];
      int& state = state_of_rank[static_cast<std::size_t>(rank)];
      while (next < static_cast<int>(order.size())) {
        const Action action = order[static_cast<std::size_t>(next)];
        if (state == receiving) {
          // A receive ends when its sender moves on, below.
          if (has_producer(table, action) && elsewhere(rank, producer(action))) break;
          state = sending;
        } else {
          if (has_consumer(table, action) && elsewhere(rank, consumer(action))) {
            const Action taken = consumer(action);
            const int to = table.rank_of(taken.stage());
            if (!stands(to, receiving, taken)) break;
            state_of_rank[static_cast<std::size_t>(to)] = sending;
          }
          state = receiving;
          ++next;
        }
        moves = true;
      }
    }
  }
  for (int rank = 0; rank < table.ranks; ++rank) {
    if (next_of_rank[static_cast<std::size_t>(rank)] < table.counts[rank]) return false;
  }
  return true;
}

//! "rank 1: forward of micro-batch 3 in stage 1 waits for what comes only after it"
[[nodiscard]] inline std::string to_text(const TableFault& fault) {
  using Kind = TableFault::Kind;
  const auto said = [&]() -> std::string {
    switch (fault.kind) {
      case Kind::none:
        return "";
      case Kind::unknown:
        return " is not of this pipeline";
      case Kind::elsewhere:
        return " is another rank's work";
      case Kind::repeated:
        return " is there twice";
      case Kind::missing:
        return " is missing";
      case Kind::deadlock:
        return " waits for what comes only after it";
      case Kind::overtaking:
        return text(" sends before ", to_text(fault.other), ", which is waited for first");
      case Kind::descending:
        return text(" comes after that of micro-batch ", fault.other.micro_batch());
    }
    return "";
  };
  return fault.found() ? text("rank ", fault.rank, ": ", to_text(fault.action), said()) : "";
}

}  // namespace weft::parallel
