// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A drawing of a pipeline's table: a row for each rank, time to the right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! Forward is blue, backward green, weight gradients orange; each box has its micro-batch, and the
//! darker it is the later the rank's stage.
//!
//! **Errors.** ArgumentError for a table that deadlocks.
[[nodiscard]] inline std::string svg(const TableView& table, const Costs& costs = {}) {
  constexpr int unit = 22, height = 26, left = 60, top = 8;
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  const int makespan = simulate(table, costs, table.micro_batches, ends, next);
  if (makespan == no_end) throw ArgumentError("svg: the schedule deadlocks");
  const int shortest = std::max(1, std::min({costs.forward, costs.backward, costs.all()}));
  const auto x = [&](int time) { return left + time * unit / shortest; };
  std::string out =
      text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", x(makespan) + top, "\" height=\"",
           2 * top + table.ranks * height, "\" font-family=\"sans-serif\" font-size=\"11\">\n");
  const char* const colours[] = {"rgb(155,190,235)", "rgb(150,210,160)", "rgb(245,195,120)"};
  for (int rank = 0; rank < table.ranks; ++rank) {
    const int y = top + rank * height;
    out += text("<text x=\"4\" y=\"", y + 17, "\">rank ", rank, "</text>\n");
    for (const Action action : table.of(rank)) {
      const int end = ends[static_cast<std::size_t>(table.place_of(action))];
      const int begin = end - costs.of(action.work(), table.splits_backward);
      const int stages = table.stages / table.ranks;
      const int percent = 100 - 40 * (action.stage() / table.ranks) / stages;
      out += text("<g style=\"filter:brightness(", percent, "%)\"><rect x=\"", x(begin), "\" y=\"",
                  y, "\" width=\"", x(end) - x(begin) - 1, "\" height=\"", height - 3, "\" fill=\"",
                  colours[static_cast<int>(action.work())], "\"><title>", to_text(action),
                  "</title></rect><text x=\"", (x(begin) + x(end)) / 2, "\" y=\"", y + 17,
                  "\" text-anchor=\"middle\">", action.micro_batch(), "</text></g>\n");
    }
  }
  return out + "</svg>\n";
}

}  // namespace weft::parallel
