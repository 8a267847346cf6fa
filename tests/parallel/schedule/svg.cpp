// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/svg.hpp>

#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/proof.hpp>

#include <catch2/catch.hpp>

#include <cstddef>
#include <string>

namespace schedule_svg_tests {

using namespace weft;
using namespace weft::parallel;

TEST_CASE("a drawing has a box for each action, where it is done") {
  const std::string drawing = svg(table_of<OneForwardOneBackward<2>, 2>.view());
  std::size_t boxes = 0;
  for (auto at = drawing.find("<rect"); at != std::string::npos;
       at = drawing.find("<rect", at + 1)) {
    ++boxes;
  }
  CHECK(boxes == 8);
  // The last rank begins when the first has sent, and takes two units for a backward.
  CHECK(
      drawing.find("x=\"82\" y=\"34\" width=\"21\" height=\"23\" fill=\"rgb(155,190,235)\"><title>"
                   "forward of micro-batch 0 in stage 1<") != std::string::npos);
  CHECK(
      drawing.find("x=\"104\" y=\"34\" width=\"43\" height=\"23\" fill=\"rgb(150,210,160)\"><title>"
                   "backward of micro-batch 0 in stage 1<") != std::string::npos);
}

TEST_CASE("a drawing does not depend on the unit of costs") {
  const TableView table = table_of<OneForwardOneBackward<2>, 2>.view();
  constexpr int nanoseconds = 20'000'000;  // of an action
  CHECK(svg(table, {nanoseconds, nanoseconds, nanoseconds}) == svg(table));
}

TEST_CASE("a table that deadlocks has no drawing") {
  Table<1, 2> backwards{.stages = 1, .micro_batches = 1};
  backwards.add(0, {Work::backward, 0, 0});
  backwards.add(0, {Work::forward, 0, 0});
  CHECK_THROWS_AS(svg(backwards.view()), ArgumentError);
}

}  // namespace schedule_svg_tests
