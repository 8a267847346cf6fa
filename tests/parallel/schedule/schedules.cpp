// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// The schedules' tables, against their closed forms and the laws.
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/proof.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include "../../message_of.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace schedule_schedules_tests {

using namespace weft;
using namespace weft::parallel;
using weft::testing::message_of;

namespace {

const std::vector<Costs> some_costs{{1, 1, 1}, {1, 2, 0}, {4, 5, 3}, {1, 3, 2},
                                    {3, 1, 2}, {2, 1, 5}, {5, 5, 1}};

//! Calls `f.template operator()<P, M>()` for ranks from 1 to 8 and many numbers of micro-batches.
template <class F>
void for_sizes(const F& f) {
  const auto for_micro_batches = [&]<int P>() {
    [&]<int... M>(std::integer_sequence<int, M...>) { (f.template operator()<P, M>(), ...); }
    (std::integer_sequence<int, 1, 2, 3, 4, 5, 8, 9, 13>{});
  };
  [&]<int... p>(std::integer_sequence<int, p...>) {
    (for_micro_batches.template operator()<p + 1>(), ...);
  }
  (std::make_integer_sequence<int, 8>{});
}

//! Checks all laws, the memory, and the time that is lost with several costs.
template <class S, int P>
void check_schedule() {
  const TableView table = table_of<S, P>.view();
  CAPTURE(S::name, P, table.micro_batches, table.stages);
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  std::vector<int> last(static_cast<std::size_t>(table.stages));
  CHECK(to_text(check_actions(table, ends)).empty());
  CHECK(to_text(check_order(table, ends, next)).empty());
  CHECK(to_text(check_links(table)).empty());
  CHECK(to_text(check_gradients(table, last)).empty());
  for (const Costs& costs : some_costs) {
    CAPTURE(costs.forward, costs.backward, costs.weight_gradients);
    const int makespan = simulate(table, costs, table.micro_batches, ends, next);
    CHECK(makespan - S::micro_batches * S::stages_of_rank * costs.all() == S::bubble(P, costs));
  }
  const Work work = table.splits_backward ? Work::weight_gradients : Work::backward;
  for (int rank = 0; rank < P; ++rank) {
    CHECK(live_micro_batches(table, rank, work) <= S::live(P, rank));
  }
}

}  // namespace

TEST_CASE("GPipe keeps every law, and loses what its formula says") {
  for_sizes([]<int P, int M>() { check_schedule<GPipe<M>, P>(); });
}

TEST_CASE("1F1B keeps every law, and loses what its formula says") {
  for_sizes([]<int P, int M>() { check_schedule<OneForwardOneBackward<M>, P>(); });
}

TEST_CASE("the interleaved schedule keeps every law, and loses what its formula says") {
  for_sizes([]<int P, int M>() {
    check_schedule<Interleaved<M, 1>, P>();
    check_schedule<Interleaved<M, 2>, P>();
    check_schedule<Interleaved<M, 3>, P>();
  });
}

TEST_CASE("the schedule without a bubble keeps every law, and loses what its formula says") {
  for_sizes([]<int P, int M>() { check_schedule<ZeroBubble<M>, P>(); });
}

TEST_CASE("how many micro-batches a rank holds is exact where nothing is interleaved") {
  for_sizes([]<int P, int M>() {
    for (int rank = 0; rank < P; ++rank) {
      const auto live = [&](const TableView& table, Work last) {
        return live_micro_batches(table, rank, last);
      };
      const auto one_each = table_of<OneForwardOneBackward<M>, P>.view();
      const auto no_bubble = table_of<ZeroBubble<M>, P>.view();
      CAPTURE(P, M, rank);
      CHECK(live(table_of<GPipe<M>, P>.view(), Work::backward) == M);
      CHECK(live(one_each, Work::backward) == std::min(M, P - rank));
      CHECK(live(no_bubble, Work::backward) == std::min(M, P - rank));
      CHECK(live(no_bubble, Work::weight_gradients) == std::min(M, P));
    }
  });
}

TEST_CASE("1F1B holds a fraction of what GPipe holds") {
  STATIC_REQUIRE(OneForwardOneBackward<32>::live(4, 0) * 6 <= GPipe<32>::live(4, 0));
}

TEST_CASE("with sends that wait for their receives, schedules of one forward, one backward stop") {
  STATIC_REQUIRE(runs_with_blocking_sends_of<GPipe<8>, 4>);
  STATIC_REQUIRE(runs_with_blocking_sends_of<OneForwardOneBackward<8>, 1>);
  STATIC_REQUIRE_FALSE(runs_with_blocking_sends_of<OneForwardOneBackward<8>, 2>);
  STATIC_REQUIRE_FALSE(runs_with_blocking_sends_of<OneForwardOneBackward<8>, 4>);
  STATIC_REQUIRE_FALSE(runs_with_blocking_sends_of<Interleaved<8, 2>, 4>);
}

TEST_CASE("a table serves every smaller number of micro-batches") {
  const auto check = [](const TableView& table) {
    std::vector<int> ends(static_cast<std::size_t>(table.places()));
    std::vector<int> next(static_cast<std::size_t>(table.ranks));
    for (int m = 0; m <= table.micro_batches; ++m) {
      CAPTURE(table.ranks, table.micro_batches, m);
      CHECK(simulate(table, {}, m, ends, next) != no_end);
    }
  };
  for_sizes([&]<int P, int M>() {
    check(table_of<GPipe<M>, P>.view());
    check(table_of<OneForwardOneBackward<M>, P>.view());
    check(table_of<Interleaved<M, 2>, P>.view());
    check(table_of<ZeroBubble<M>, P>.view());
  });
}

TEST_CASE("a table takes no more actions of a rank than it has room for") {
  Table<2, 1> table;
  table.add(1, {Work::forward, 1, 0});
  CHECK(message_of<ArgumentError>([&] {
          table.add(1, {Work::backward, 1, 0});
          return 0;
        }) == "Table: rank 1 has more than 1 actions");
}

TEST_CASE("a table that is made when the program runs is told which law it breaks") {
  CHECK(!first_fault(table_of<ZeroBubble<5>, 3>.view()).found());
  CHECK(!first_fault(table_of<Interleaved<5, 2>, 3>.view()).found());
  Table<2, 2> table{.stages = 2, .micro_batches = 1};
  table.add(0, {Work::forward, -1, 0});  // the stage before the first
  CHECK(to_text(first_fault(table.view())) ==
        "rank 0: no work of micro-batch 0 in stage 32767 is not of this pipeline");
}

TEST_CASE("the compiler proves tables of eight stages and thirty-two micro-batches") {
  STATIC_REQUIRE(sizeof(Proof<OneForwardOneBackward<32>, 8>) > 0);
  STATIC_REQUIRE(sizeof(Proof<ZeroBubble<32>, 8>) > 0);
  STATIC_REQUIRE(sizeof(Proof<Interleaved<32, 2>, 4>) > 0);
  STATIC_REQUIRE(sizeof(Proof<GPipe<32>, 8>) > 0);
}

}  // namespace schedule_schedules_tests
