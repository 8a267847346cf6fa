// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/trace.hpp>

#include <nlohmann/json.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace trace_tests {

using namespace weft;

TEST_CASE("spans are recorded while a trace is") {
  { const TraceSpan before("a", "before"); }
  start_trace();
  {
    const TraceSpan outer("a", "outer");
    const TraceSpan inner("b", "inner", 3);
  }
  std::jthread([] { const TraceSpan other("c", "on another thread"); }).join();
  const auto events = take_trace();
  { const TraceSpan after("a", "after"); }
  REQUIRE(events.size() == 3);
  CHECK(events[0].row == "b");
  CHECK(events[0].name == "inner 3");
  CHECK(events[1].name == "outer");
  CHECK(events[2].name == "on another thread");
  CHECK(events[1].begin_s <= events[0].begin_s);
  CHECK(events[0].begin_s <= events[0].end_s);
  CHECK(events[0].end_s <= events[1].end_s);
  CHECK(take_trace().empty());
}

TEST_CASE("a span that began before a trace is not in it") {
  {
    const TraceSpan early("a", "early");
    start_trace();
  }
  CHECK(take_trace().empty());
}

TEST_CASE("another tool's ranges begin and end with their spans, in any order") {
  static std::vector<std::string> calls;
  static constexpr weft::detail::RangeMaker maker{
      [](const char* name, index_t number) {
        calls.push_back(text("begin ", name, " ", number));
        return static_cast<std::uint64_t>(calls.size());
      },
      [](std::uint64_t range) { calls.push_back(text("end ", range)); }};
  std::optional<TraceSpan> first, second;
  {
    const TraceSpan early("a", "early");
    weft::detail::range_maker = &maker;
    first.emplace("a", "first");
    second.emplace("b", "second", 3);
    weft::detail::range_maker = nullptr;
  }
  first.reset();
  second.reset();
  CHECK(calls == std::vector<std::string>{"begin first -1", "begin second 3", "end 1", "end 2"});
}

TEST_CASE("a trace is JSON with a row for each name of one") {
  const std::vector<TracedSpan> first = {{"cpu:0", "forward 1", 10.0, 10.5},
                                         {"cpu:1", "forward 2", 10.25, 11.0}};
  const std::vector<std::string> processes = {chrome_events(first, 0), "",
                                              chrome_events(std::vector{first[1]}, 2)};
  const auto json = nlohmann::json::parse(chrome_trace(processes));
  const auto& events = json.at("traceEvents");
  REQUIRE(events.size() == 2 + 2 + 1 + 1);
  CHECK(events[1].at("args").at("name") == "cpu:1");
  CHECK(events[2].at("name") == "forward 1");
  CHECK(events[2].at("ts") == 10e6);
  CHECK(events[2].at("dur") == 0.5e6);
  CHECK(events[3].at("tid") == 1);
  CHECK(events[5].at("pid") == 2);
  CHECK(events[5].at("tid") == 0);
  CHECK(nlohmann::json::parse(chrome_trace({})).at("traceEvents").empty());
}

}  // namespace trace_tests
