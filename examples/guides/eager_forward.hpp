// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A schedule of one's own: 1F1B that runs ahead, so that messages have time to arrive.
// [schedule]
#pragma once

#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

#include <algorithm>

namespace guides {

//! 1F1B with twice as many micro-batches ahead: a rank has one more in hand for each rank after it,
//! and computes while what it waits for is on its way.
//!
//! **Memory.** On rank r of P the activations of min(M, 2 (P - 1 - r) + 1) micro-batches.
//! **Cost.** As OneForwardOneBackward, where messages cost nothing.
template <int M>
struct EagerForward {
  static_assert(M > 0, "a schedule needs at least one micro-batch");
  static constexpr const char* name = "eager-forward";
  static constexpr int micro_batches = M;
  static constexpr int stages_of_rank = 1;

  template <int P>
  static constexpr auto table() {
    using weft::parallel::Work;
    weft::parallel::Table<P, 2 * M> made{.stages = P, .micro_batches = M};
    for (int rank = 0; rank < P; ++rank) {
      const int ahead = std::min(M, 2 * (P - 1 - rank));
      for (int m = 0; m < ahead; ++m) made.add(rank, {Work::forward, rank, m});
      for (int m = 0; m < M; ++m) {
        if (m + ahead < M) made.add(rank, {Work::forward, rank, m + ahead});
        made.add(rank, {Work::backward, rank, m});
      }
    }
    return made;
  }

  //! The most micro-batches that a rank holds.
  static constexpr int live(int ranks, int rank) { return std::min(M, 2 * (ranks - 1 - rank) + 1); }

  //! The time in which the busiest rank does nothing, for equal stages.
  static constexpr int bubble(int ranks, const weft::parallel::Costs& costs) {
    return (ranks - 1) * costs.all();
  }
};

}  // namespace guides
// [schedule]
