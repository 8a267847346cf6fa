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

//! When all has ended that costs one unit each, or `no_end`.
template <class S, int P>
inline constexpr int unit_makespan = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.places())> ends{};
  std::array<int, P> next{};
  return simulate(table, {}, table.micro_batches, ends, next);
}();

//! Whether it would run if each send waited for its receive.
template <class S, int P>
inline constexpr bool runs_with_blocking_sends_of = [] {
  std::array<int, P> next{};
  std::array<int, P> state{};
  return runs_with_blocking_sends(table_of<S, P>.view(), next, state);
}();

namespace detail {

// Each law has a constant of its own, as compilers limit the steps of one.

template <class S, int P>
inline constexpr TableFault fault_of_actions = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.places())> seen{};
  return check_actions(table, seen);
}();

template <class S, int P>
inline constexpr TableFault fault_of_order = [] {
  if constexpr (unit_makespan<S, P> == no_end) {
    constexpr TableView table = table_of<S, P>.view();
    std::array<int, static_cast<std::size_t>(table.places())> ends{};
    std::array<int, P> next{};
    return check_order(table, ends, next);
  }
  return TableFault();
}();

template <class S, int P>
inline constexpr TableFault fault_of_links = check_links(table_of<S, P>.view());

template <class S, int P>
inline constexpr TableFault fault_of_gradients = [] {
  constexpr TableView table = table_of<S, P>.view();
  std::array<int, static_cast<std::size_t>(table.stages)> last{};
  return check_gradients(table, last);
}();

template <class S, int P>
constexpr TableFault first_fault() {
  if constexpr (fault_of_actions<S, P>.found()) {
    return fault_of_actions<S, P>;
  } else if constexpr (fault_of_order<S, P>.found()) {
    return fault_of_order<S, P>;
  } else if constexpr (fault_of_links<S, P>.found()) {
    return fault_of_links<S, P>;
  } else {
    return fault_of_gradients<S, P>;
  }
}

// How a compiler's message says where.
template <int number>
struct Rank;
template <int number>
struct Stage;
template <int number>
struct MicroBatch;
template <Work work, class Stage, class MicroBatch>
struct At;

//! Compiles for `Kind::none`. The other arguments are where a law is broken: the rank, the action,
//! and what TableFault::other is.
template <TableFault::Kind kind, class... Where>
struct Law {
  using Kind = TableFault::Kind;
  static_assert(kind != Kind::unknown,
                "a schedule's table has an action of a stage or micro-batch that is not there, or "
                "weight gradients apart where it does not split the backward pass");
  static_assert(kind != Kind::elsewhere,
                "a schedule's table has an action on a rank that does not have its stage");
  static_assert(kind != Kind::repeated, "a schedule's table has an action twice");
  static_assert(kind != Kind::missing, "a schedule's table lacks an action");
  static_assert(kind != Kind::deadlock,
                "a schedule's table deadlocks: an action waits for what comes only after it");
  static_assert(kind != Kind::overtaking,
                "a schedule's table sends a message before another that is waited for first");
  static_assert(kind != Kind::descending,
                "a schedule's table does not add a stage's gradients in ascending micro-batches");
};

template <class S, int P>
constexpr auto law_of_first_fault() {
  constexpr TableFault fault = first_fault<S, P>();
  if constexpr (!fault.found()) {
    return Law<fault.kind>();
  } else {
    constexpr Action action = fault.action, other = fault.other;
    using Here = At<action.work(), Stage<action.stage()>, MicroBatch<action.micro_batch()>>;
    using There = At<other.work(), Stage<other.stage()>, MicroBatch<other.micro_batch()>>;
    if constexpr (fault.kind == TableFault::Kind::overtaking ||
                  fault.kind == TableFault::Kind::descending) {
      return Law<fault.kind, Rank<fault.rank>, Here, There>();
    } else {
      return Law<fault.kind, Rank<fault.rank>, Here>();
    }
  }
}

// What the schedule says of its table, and promises, if it does.

template <int ranks, int stages, int micro_batches>
struct Extents;

template <class Holds, class Says>
struct Size {
  static_assert(std::same_as<Holds, Says>,
                "a schedule's table<P>() is of other ranks, stages or micro-batches than the "
                "schedule says: a Table<P, longest>{.stages = P * stages_of_rank, .micro_batches = "
                "micro_batches}");
};

template <class S, int P>
constexpr auto size_of() {
  constexpr TableView table = table_of<S, P>.view();
  return Size<Extents<table.ranks, table.stages, table.micro_batches>,
              Extents<P, P * S::stages_of_rank, S::micro_batches>>();
}

template <class Rank, int holds, int says>
struct Memory {
  static_assert(holds <= says,
                "a schedule's table holds more micro-batches at a time than the schedule says");
};

template <class S, int P, int rank = 0>
constexpr auto memory_of() {
  if constexpr (requires { S::live(P, rank); }) {
    constexpr TableView table = table_of<S, P>.view();
    constexpr Work last = table.splits_backward ? Work::weight_gradients : Work::backward;
    constexpr int holds = live_micro_batches(table, rank, last), says = S::live(P, rank);
    if constexpr (holds > says || rank + 1 == P) {
      return Memory<Rank<rank>, holds, says>();
    } else {
      return memory_of<S, P, rank + 1>();
    }
  } else {
    static_assert(
        !requires { &S::live; },
        "what a schedule promises of memory is a function of the class: static constexpr "
        "int live(int ranks, int rank)");
    return Memory<Rank<rank>, 0, 0>();
  }
}

template <int loses, int says>
struct Bubble {
  static_assert(loses == says, "a schedule's table loses another time than the schedule says");
};

template <class S, int P>
constexpr auto bubble_of() {
  if constexpr (requires { S::bubble(P, Costs{}); }) {
    constexpr int work = S::micro_batches * S::stages_of_rank * Costs{}.all();
    return Bubble<unit_makespan<S, P> - work, S::bubble(P, {})>();
  } else {
    static_assert(
        !requires { &S::bubble; },
        "what a schedule promises of lost time is a function of the class: static "
        "constexpr int bubble(int ranks, const Costs& costs)");
    return Bubble<0, 0>();
  }
}

}  // namespace detail

//! Compiles if the table of a schedule on P ranks keeps every law. Otherwise the compiler says
//! which is broken first, and where: `Law<..., Rank<1>, At<Work::forward, Stage<1>,
//! MicroBatch<3>>>`.
template <class S, int P>
struct Proof {
  static_assert(Schedule<S>, "a schedule needs micro_batches, stages_of_rank and table<ranks>()");
  static_assert(P > 0, "a pipeline needs at least one stage");
  static_assert(sizeof(detail::size_of<S, P>()) > 0);
  static_assert(sizeof(detail::law_of_first_fault<S, P>()) > 0);
  static_assert(sizeof(detail::memory_of<S, P>()) > 0);
  static_assert(sizeof(detail::bubble_of<S, P>()) > 0);
};

}  // namespace weft::parallel
