// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The laws of a schedule's table, proven by the compiler.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/laws.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! What makes tables of any number of ranks, as types:
//!
//!     struct MySchedule {
//!       static constexpr int micro_batches = 8, stages_of_rank = 1;
//!       template <int P> static constexpr auto table();  // a Table<P, ...>
//!     };
template <class S>
concept Schedule = requires {
  { S::micro_batches } -> std::convertible_to<int>;
  { S::stages_of_rank } -> std::convertible_to<int>;
  S::template table<1>();
};

//! The table of a schedule. There is one, however often it is proven and run.
template <class S, int P>
inline constexpr auto table_of = S::template table<P>();

//! Whether each stage has each micro-batch's actions once, on its rank.
template <class S, int P>
inline constexpr bool has_every_action_once = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.places())> seen{};
  return !check_actions(table, seen).found();
}();

//! When all has ended that costs one unit each, or `no_end`.
template <class S, int P>
inline constexpr int unit_makespan = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.places())> ends{};
  std::array<int, P> next{};
  return simulate(table, {}, table.micro_batches, ends, next);
}();

//! Whether nothing waits for what comes only after it.
template <class S, int P>
inline constexpr bool cannot_deadlock = unit_makespan<S, P> != no_end;

//! Whether both ends of each link have the messages in the same order.
template <class S, int P>
inline constexpr bool links_agree = !check_links(table_of<S, P>.view()).found();

//! Whether each stage's gradients are added as on one device.
template <class S, int P>
inline constexpr bool gradients_ascend = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.stages)> last{};
  return !check_gradients(table, last).found();
}();

//! Whether it would run if each send waited for its receive.
template <class S, int P>
inline constexpr bool runs_with_blocking_sends_of = [] {
  std::array<int, P> next{};
  std::array<int, P> state{};
  return runs_with_blocking_sends(table_of<S, P>.view(), next, state);
}();

//! Whether no rank holds more micro-batches than the schedule says, if it says so.
template <class S, int P>
inline constexpr bool keeps_its_memory = [] {
  if constexpr (requires { S::live(P, 0); }) {
    constexpr TableView table = table_of<S, P>.view();
    const Work last = table.splits_backward ? Work::weight_gradients : Work::backward;
    for (int rank = 0; rank < P; ++rank) {
      if (live_micro_batches(table, rank, last) > S::live(P, rank)) return false;
    }
  }
  return true;
}();

//! Whether equal stages of unit costs lose the time that the schedule says, if it says so.
template <class S, int P>
inline constexpr bool keeps_its_bubble = [] {
  if constexpr (requires { S::bubble(P, Costs{}); }) {
    return unit_makespan<S, P> - S::micro_batches * S::stages_of_rank * Costs{}.all() ==
           S::bubble(P, {});
  }
  return true;
}();

//! Compiles if the table of a schedule on P ranks keeps every law.
template <class S, int P>
struct Proof {
  static_assert(Schedule<S>, "a schedule needs micro_batches, stages_of_rank and table<ranks>()");
  static_assert(P > 0, "a pipeline needs at least one stage");
  static_assert(has_every_action_once<S, P>,
                "a schedule's table lacks an action, or has one twice or on another rank");
  static_assert(cannot_deadlock<S, P>,
                "a schedule's table deadlocks: an action waits for what comes only after it");
  static_assert(links_agree<S, P>,
                "a schedule's table sends a message before another that is waited for first");
  static_assert(gradients_ascend<S, P>,
                "a schedule's table does not add a stage's gradients in ascending micro-batches");
  static_assert(keeps_its_memory<S, P>,
                "a schedule's table holds more micro-batches at a time than the schedule says");
  static_assert(keeps_its_bubble<S, P>,
                "a schedule's table loses another time than the schedule says");
};

}  // namespace weft::parallel
