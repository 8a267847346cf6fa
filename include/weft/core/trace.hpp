// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a program did when, for ui.perfetto.dev, and with weft/nvtx.cuh for NVIDIA's tools.
//!
//!     start_trace();
//!     { const TraceSpan span(device, "forward", micro_batch); ... }
//!     const std::string mine[] = {chrome_events(take_trace())};
//!     io::write_file("trace.json", chrome_trace(mine));
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/clock.hpp>
#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

namespace weft {

//! Something that took time, in seconds of the machine's clock: those of several machines differ.
struct TracedSpan {
  std::string row;       //!< who did it, such as "cpu:0"
  std::string name;      //!< what, such as "forward 3"
  double begin_s = 0.0;  //!< when it began
  double end_s = 0.0;    //!< when it ended
};

namespace detail {

struct TraceRecord {
  std::atomic<bool> on{false};
  std::mutex mutex;
  std::vector<TracedSpan> events;

  static TraceRecord& of_process() {
    static TraceRecord record;
    return record;
  }
};

//! Makes a range of another tool for each span.
struct RangeMaker {
  std::uint64_t (*begin)(const char* name, index_t number);
  void (*end)(std::uint64_t range);  // in any order: spans of messages are no stack
};

//! Set before main begins, by weft/nvtx.cuh in any source of a program; the other sources compile
//! the same TraceSpan without it.
inline const RangeMaker* range_maker = nullptr;

}  // namespace detail

//! Records the spans of all threads of the process from now on.
inline void start_trace() { detail::TraceRecord::of_process().on = true; }

//! Records no more, and returns what was recorded, in the order of the spans' ends. Of several
//! callers the first gets all.
[[nodiscard]] inline std::vector<TracedSpan> take_trace() {
  auto& record = detail::TraceRecord::of_process();
  record.on = false;
  const std::scoped_lock lock(record.mutex);
  return std::exchange(record.events, {});
}

//! From its making to its end, something is done. While nothing is recorded it costs two loads.
class TraceSpan {
 public:
  //! `row` is who does it, a device for example; it has a `to_text`. The name is a literal, with a
  //! number behind it unless that is negative.
  template <class Row>
  TraceSpan(const Row& row, const char* name, index_t number = -1) {
    if (maker_ != nullptr) range_ = maker_->begin(name, number);
    if (!detail::TraceRecord::of_process().on.load(std::memory_order_relaxed)) return;
    event_.row = text(row);
    event_.name = number < 0 ? std::string(name) : text(name, " ", number);
    event_.begin_s = monotonic_seconds();
    recorded_ = true;
  }

  ~TraceSpan() {
    if (maker_ != nullptr) maker_->end(range_);
    if (!recorded_) return;
    try {
      record();
    } catch (...) {  // no memory for it: the trace goes without
    }
  }

  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  void record() {
    event_.end_s = monotonic_seconds();
    auto& record = detail::TraceRecord::of_process();
    const std::scoped_lock lock(record.mutex);
    record.events.push_back(std::move(event_));
  }

  TracedSpan event_;
  bool recorded_ = false;
  const detail::RangeMaker* maker_ = detail::range_maker;
  std::uint64_t range_ = 0;
};

//! The part of a trace that one process has, of several whose parts `chrome_trace` puts together.
[[nodiscard]] inline std::string chrome_events(std::span<const TracedSpan> events,
                                               int process = 0) {
  std::map<std::string, std::size_t> rows;
  for (const TracedSpan& event : events) rows.emplace(event.row, 0);
  std::string json;
  const auto comma = [&] { return json.empty() ? "" : ","; };
  std::size_t next = 0;
  for (auto& [row, number] : rows) {
    number = next++;
    json += text(comma(), "\n{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", number,
                 ",\"name\":\"thread_name\",\"args\":{\"name\":\"", row, "\"}}");
  }
  for (const TracedSpan& event : events) {
    json += text(comma(), "\n{\"ph\":\"X\",\"pid\":", process, ",\"tid\":", rows[event.row],
                 ",\"name\":\"", event.name, "\",\"ts\":", fixed(event.begin_s * 1e6, 1),
                 ",\"dur\":", fixed((event.end_s - event.begin_s) * 1e6, 1), "}");
  }
  return json;
}

//! JSON that ui.perfetto.dev and chrome://tracing show: a group for each process, in it a row for
//! each name of one.
//!
//! **Source.** "Trace Event Format", Google: complete events, in microseconds.
[[nodiscard]] inline std::string chrome_trace(std::span<const std::string> processes) {
  std::string json = "{\"traceEvents\":[";
  for (const std::string& events : processes) {
    if (!events.empty()) json += (json.back() == '[' ? "" : ",") + events;
  }
  return json + "\n]}\n";
}

}  // namespace weft
