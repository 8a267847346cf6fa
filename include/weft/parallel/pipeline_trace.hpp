// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the ranks of a pipeline did when.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/parallel/schedule/action.hpp>
#include <weft/parallel/schedule/drawing.hpp>

namespace weft::parallel {

//! One action of a rank, in seconds of the machine's clock: those of several machines differ.
struct TraceEvent {
  Action action;    //!< what it did
  double begin_s;   //!< when it began
  double end_s;     //!< when it ended
  double waited_s;  //!< at the beginning, for another rank
};

//! The events of one rank, in their order.
using Trace = std::vector<TraceEvent>;

//! The traces of all ranks, by rank. All ranks call it.
template <comm::Communicator C>
[[nodiscard]] std::vector<Trace> gathered_traces(C& communicator, const Trace& mine) {
  std::vector<Trace> traces(static_cast<std::size_t>(communicator.size()));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    Trace& trace = traces[static_cast<std::size_t>(rank)];
    if (rank == communicator.rank()) trace = mine;
    auto size = static_cast<index_t>(trace.size());
    comm::broadcast(communicator, std::span(&size, 1), rank, {"broadcast", "trace"});
    trace.resize(static_cast<std::size_t>(size));
    comm::broadcast(communicator, std::span(trace), rank, {"broadcast", "trace"});
  }
  return traces;
}

//! The share of the time from the first beginning to the last end in which ranks did nothing: their
//! mean. For equal stages, bubble / makespan of the schedule.
[[nodiscard]] inline double lost_share(std::span<const Trace> traces) {
  double begin = 0.0, end = 0.0, busy = 0.0;
  bool first = true;
  for (const Trace& trace : traces) {
    for (const TraceEvent& event : trace) {
      begin = first ? event.begin_s : std::min(begin, event.begin_s);
      end = first ? event.end_s : std::max(end, event.end_s);
      busy += event.end_s - event.begin_s - event.waited_s;
      first = false;
    }
  }
  return first ? 0.0 : 1.0 - busy / (static_cast<double>(traces.size()) * (end - begin));
}

//! The last batch of the traces, drawn as wide as `pixels`; what ranks waited is left blank.
[[nodiscard]] inline std::string svg(std::span<const Trace> traces, int pixels = 900) {
  std::vector<std::span<const TraceEvent>> last;
  int stages = static_cast<int>(traces.size());
  for (const Trace& trace : traces) {
    // In its first stage a rank takes micro-batches in ascending order. A short batch lacks some.
    std::size_t begin = 0;
    int micro_batch = -1;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const Action action = trace[i].action, first = trace.front().action;
      if (action.work() != first.work() || action.stage() != first.stage()) continue;
      if (action.micro_batch() <= micro_batch) begin = i;
      micro_batch = action.micro_batch();
    }
    last.push_back(std::span(trace).subspan(begin));
    for (const TraceEvent& event : trace) stages = std::max(stages, event.action.stage() + 1);
  }
  double begin_s = 0.0, end_s = 0.0;
  bool first = true;
  for (const auto& events : last) {
    for (const TraceEvent& event : events) {
      begin_s = first ? event.begin_s : std::min(begin_s, event.begin_s);
      end_s = first ? event.end_s : std::max(end_s, event.end_s);
      first = false;
    }
  }
  std::vector<ActionBox> boxes;
  for (std::size_t rank = 0; rank < last.size(); ++rank) {
    for (const TraceEvent& event : last[rank]) {
      const auto pixel = [&](double time_s) {
        return static_cast<int>((time_s - begin_s) / (end_s - begin_s) * pixels);
      };
      boxes.push_back({event.action, static_cast<int>(rank), pixel(event.begin_s + event.waited_s),
                       pixel(event.end_s)});
    }
  }
  return draw_actions(boxes, static_cast<int>(traces.size()), stages);
}

}  // namespace weft::parallel
