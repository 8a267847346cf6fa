// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/report.hpp>

#include <catch2/catch.hpp>

#include <string>

#include "small_runs.hpp"

namespace report_tests {

using namespace weft;
using namespace weft::testing;
using namespace weft::train;

namespace {

bool has(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a page shows what is known, and only that") {
  Report report{.title = "A run", .command = "train --rate 2 <text"};
  CHECK(has(to_html(report), "<h1>A run</h1>"));
  CHECK(has(to_html(report), "<pre>train --rate 2 &lt;text</pre>"));
  for (const char* part : {"<h2>", "<dl>", "<figure>"}) CHECK(!has(to_html(report), part));

  report.facts = {{"parameters", "12"}};
  report.charts = {{"Loss", "updates", {{"training", {{1, 3}, {2, 2.5}}}}}};
  report.schedule = "<svg id=\"schedule\"/>";
  report.samples = {{"ein <Haus>", "a house", "a \"house\""}};
  const std::string page = to_html(report);
  CHECK(has(page, "<dt>parameters</dt><dd>12</dd>"));
  CHECK(has(page, "<h3>Loss</h3>"));
  CHECK(has(page, "training 2.5"));
  CHECK(has(page, "<svg id=\"schedule\"/>"));
  CHECK(has(page, "ein &lt;Haus&gt;"));
  CHECK(has(page, "a &quot;house&quot;"));
}

TEST_CASE("a pool that gave memory back since has none that was never used") {
  const train::MemoryUse use{.device = "cuda:0", .parameters = 20, .activations = 12, .held = 20};
  CHECK(use.used() == 32);
  CHECK(use.unused() == 0);
}

TEST_CASE("pages of which a GPU has a part are told where there are any") {
  train::MemoryUse use{.device = "cuda:0", .parameters = 1'000'000, .held = 4'000'000};
  const char* const name = "parts of parameters and gradients";
  CHECK(!has(to_html({.title = "A run", .memory = {use}}), name));
  use.pages = 2'500'000;
  CHECK(use.used() == 3'500'000);
  CHECK(use.unused() == 500'000);
  CHECK(has(to_html({.title = "A run", .memory = {use}}), text(name, " 2.5 MB")));
}

TEST_CASE("a page needs no other file") {
  Report report{.title = "A run"};
  report.charts = {{"Loss", "updates", {{"training", {{1, 3}, {2, 2.5}}}}}};
  for (const char* part : {"http:", "https:", "src=", "href=", "url(", "@import"}) {
    CHECK(!has(to_html(report), part));
  }
}

TEST_CASE("memory is told by what it is for") {
  Devices devices(2);
  auto uses = memory_of_devices(devices.strategy);
  REQUIRE(uses.size() == 2);
  const auto& layout = devices.strategy.objective().layout();
  const auto about = [](index_t floats) { return (floats * 4 + 63) / 64 * 64; };
  CHECK(uses[0].device == "cpu:0");
  CHECK(uses[0].parameters == about(layout.values));
  CHECK(uses[0].optimizer == 2 * about(layout.trained));
  CHECK(uses[1].parameters == 0);  // devices of one memory share them
  train_on(devices.strategy, 0, 1);
  const auto trained = memory_of_devices(devices.strategy);
  CHECK(trained[0].activations > uses[0].activations);
  CHECK(trained[0].gradients == about(layout.gradients));  // of one lane
  CHECK(trained[0].held >= trained[0].used());
  CHECK(trained[0].unused() == trained[0].held - trained[0].used());
  CHECK(trained[0].parameters == uses[0].parameters);

  const std::string page = to_html({.title = "A run", .memory = trained});
  CHECK(has(page, "cpu:1, 2.1 MB taken from the system"));
  CHECK(has(page, "parameters 0.1 MB"));
}

}  // namespace report_tests
