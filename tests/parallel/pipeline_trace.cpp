// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/pipeline_trace.hpp>

#include <weft/comm/launch.hpp>
#include <weft/core/trace.hpp>
#include <weft/parallel/pipeline_parallel.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "small_pipes.hpp"

namespace pipeline_trace_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::parallel;
using comm::ThreadCommunicator;

namespace {

//! An event of a test: forward of a micro-batch on the only stage of a rank.
TraceEvent forward(int rank, int micro_batch, double begin_s, double end_s, double waited_s = 0) {
  return {{Work::forward, rank, micro_batch}, begin_s, end_s, waited_s};
}

//! What the ranks did in one update by a table.
template <int stages>
std::vector<Trace> traces_of(const TableView& table) {
  using Model = std::remove_cvref_t<
      decltype(std::declval<decltype(small_pipe_objective<GPipe<1>, stages>())>().model())>;
  std::vector<Trace> traces;
  comm::launch_threads(table.ranks, comm::Timeout(60), [&](ThreadCommunicator& communicator) {
    Cpu cpu;
    PipelineParallel<Model, PipeLoss<false>> strategy(
        cpu, communicator, small_pipe_objective<GPipe<1>, stages>(), optim::Adam(),
        {.micro_batches = table.micro_batches}, table);
    const auto batch = random_translations(2 * table.micro_batches, 1);
    (void)strategy.step(WordsBatch(batch), 0.002);
    Trace mine;
    strategy.record(&mine);
    (void)strategy.step(WordsBatch(batch), 0.002);
    strategy.record(nullptr);
    (void)strategy.step(WordsBatch(batch), 0.002);
    auto all = gathered_traces(communicator, mine);
    if (communicator.rank() == 0) traces = std::move(all);
  });
  return traces;
}

template <int stages>
void expect_what_the_table_says(const TableView& table) {
  const auto traces = traces_of<stages>(table);
  REQUIRE(std::ssize(traces) == table.ranks);
  std::vector<double> begins(static_cast<std::size_t>(table.places()));
  for (const Trace& trace : traces) {
    for (const TraceEvent& event : trace) {
      begins[static_cast<std::size_t>(table.place_of(event.action))] = event.begin_s;
    }
  }
  for (int rank = 0; rank < table.ranks; ++rank) {
    const Trace& trace = traces[static_cast<std::size_t>(rank)];
    CAPTURE(stages, table.ranks, rank);
    CHECK(std::ranges::equal(trace, table.of(rank), {}, &TraceEvent::action));
    int live = 0, most = 0, late = 0;
    const Work last = table.splits_backward ? Work::weight_gradients : Work::backward;
    for (const TraceEvent& event : trace) {
      if (event.action.work() == Work::forward) most = std::max(most, ++live);
      if (event.action.work() == last) --live;
      if (event.end_s < event.begin_s + event.waited_s) ++late;
      // Nobody has computed from what another has not begun to compute.
      if (has_producer(table, event.action) &&
          event.end_s < begins[static_cast<std::size_t>(table.place_of(producer(event.action)))]) {
        ++late;
      }
    }
    CHECK(most == live_micro_batches(table, rank, last));
    CHECK(late == 0);
  }
}

}  // namespace

TEST_CASE("ranks do what the table says, in its order, with as many micro-batches under way") {
  expect_what_the_table_says<4>(table_of<GPipe<6>, 4>.view());
  expect_what_the_table_says<4>(table_of<OneForwardOneBackward<6>, 4>.view());
  expect_what_the_table_says<4>(table_of<ZeroBubble<6>, 4>.view());
  expect_what_the_table_says<4>(table_of<Interleaved<6, 2>, 2>.view());
  expect_what_the_table_says<8>(table_of<OneForwardOneBackward<9>, 8>.view());
  expect_what_the_table_says<8>(table_of<ZeroBubble<9>, 8>.view());
  expect_what_the_table_says<8>(table_of<Interleaved<9, 2>, 4>.view());
}

TEST_CASE("the share of the time that ranks lose") {
  const std::vector<Trace> traces{
      {forward(0, 0, 10.0, 10.5)},
      {forward(1, 0, 10.0, 11.0, 0.5), {{Work::backward, 1, 0}, 11.0, 12.0, 0.0}}};
  CHECK(lost_share(traces) == Approx(1.0 - (0.5 + 0.5 + 1.0) / (2 * 2.0)));
  CHECK(lost_share(std::vector<Trace>{}) == 0.0);
}

TEST_CASE("spans of a pipeline stand in the trace of the process") {
  start_trace();
  (void)traces_of<2>(table_of<OneForwardOneBackward<3>, 2>.view());
  const auto events = take_trace();
  const auto count = [&](const std::string& row, const std::string& name) {
    return std::ranges::count_if(events, [&](const weft::TracedSpan& event) {
      return event.row == row && event.name == name;
    });
  };
  for (const char* work : {"forward 0", "forward 2", "backward 0", "backward 2"}) {
    CHECK(count("cpu:0", work) == 2 * 3);  // both ranks' device has this name; three updates
  }
  CHECK(count("cpu:0", "wait for micro-batch 1") == 2 * 3);
}

TEST_CASE("the last batch of a trace is drawn, without what was waited") {
  const std::vector<Trace> traces = {
      {forward(0, 0, 1, 2), forward(0, 1, 2, 3), forward(0, 0, 10, 12), forward(0, 1, 12, 14)},
      {forward(1, 0, 1, 3, 1), forward(1, 1, 3, 4), forward(1, 0, 10, 14, 2),
       forward(1, 1, 14, 20, 1)}};
  const std::string drawing = svg(traces, 100);
  const auto has = [&](const std::string& part) { return drawing.find(part) != std::string::npos; };
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (auto at = drawing.find(part); at != std::string::npos; at = drawing.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(count("<rect") == 4);
  CHECK(has("<rect x=\"60\" y=\"8\" width=\"19\""));    // 10 to 12 of 10 to 20
  CHECK(has("<rect x=\"80\" y=\"34\" width=\"19\""));   // 12 to 14: it waited until 12
  CHECK(has("<rect x=\"110\" y=\"34\" width=\"49\""));  // 15 to 20
  CHECK(svg(std::vector<Trace>(2)).find("<rect") == std::string::npos);

  // A batch of fewer sequences than micro-batches lacks the first of these.
  const std::vector<Trace> grows = {
      {forward(0, 1, 1, 2), forward(0, 0, 3, 4), forward(0, 1, 4, 5)}};
  const std::vector<Trace> shrinks = {
      {forward(0, 0, 1, 2), forward(0, 1, 2, 3), forward(0, 1, 4, 5)}};
  CHECK(svg(grows, 100).find("<title>forward of micro-batch 0") != std::string::npos);
  CHECK(svg(shrinks, 100).find("<title>forward of micro-batch 0") == std::string::npos);
}

}  // namespace pipeline_trace_tests
