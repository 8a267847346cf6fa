// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The schedule that is called 1F1B.
#pragma once

#include <algorithm>

#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! As many micro-batches forward as there are stages behind, then one forward and one backward in
//! turn.
//!
//! **Memory.** On rank r of P the activations of min(M, P - r) micro-batches.
//! **Cost.** As GPipe.
//! **Source.** Narayanan et al. 2019 (PipeDream-Flush).
template <int M>
struct OneForwardOneBackward {
  static_assert(M > 0, "a schedule needs at least one micro-batch");
  static constexpr const char* name = "1f1b";
  static constexpr int micro_batches = M;
  static constexpr int stages_of_rank = 1;

  template <int P>
  [[nodiscard]] static constexpr auto table() {
    Table<P, 2 * M> made{.stages = P, .micro_batches = M};
    for (int rank = 0; rank < P; ++rank) {
      const int ahead = std::min(M, P - 1 - rank);
      for (int m = 0; m < ahead; ++m) made.add(rank, {Work::forward, rank, m});
      for (int m = 0; m < M; ++m) {
        if (m + ahead < M) made.add(rank, {Work::forward, rank, m + ahead});
        made.add(rank, {Work::backward, rank, m});
      }
    }
    return made;
  }

  //! The most micro-batches that a rank holds.
  [[nodiscard]] static constexpr int live(int ranks, int rank) { return std::min(M, ranks - rank); }

  //! The time in which the busiest rank does nothing, for equal stages.
  [[nodiscard]] static constexpr int bubble(int ranks, const Costs& costs) {
    return (ranks - 1) * costs.all();
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::OneForwardOneBackward;
}
