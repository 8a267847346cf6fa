// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A drawing of a pipeline's table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/parallel/schedule/drawing.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! The table's actions as they are done where each takes what `costs` says: see `draw_actions`.
//!
//! **Errors.** ArgumentError for a table that deadlocks.
[[nodiscard]] inline std::string svg(const TableView& table, const Costs& costs = {}) {
  constexpr index_t unit = 22;  // pixels of the shortest action
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  if (simulate(table, costs, table.micro_batches, ends, next) == no_end) {
    throw ArgumentError("svg: the schedule deadlocks");
  }
  const int shortest = std::max(1, std::min({costs.forward, costs.backward, costs.all()}));
  const auto pixel = [&](int time) { return static_cast<int>(unit * time / shortest); };
  std::vector<ActionBox> boxes;
  for (int rank = 0; rank < table.ranks; ++rank) {
    for (const Action action : table.of(rank)) {
      const int end = ends[static_cast<std::size_t>(table.place_of(action))];
      const int begin = end - costs.of(action.work(), table.splits_backward);
      boxes.push_back({action, rank, pixel(begin), pixel(end)});
    }
  }
  return draw_actions(boxes, table.ranks, table.stages);
}

}  // namespace weft::parallel
