// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The schedule of GPipe.
#pragma once

#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! All micro-batches forward, then all backward.
//!
//! **Memory.** On every rank the activations of M micro-batches.
//! **Cost.** P - 1 micro-batches' work of a stage in which a rank does nothing.
//! **Source.** Huang et al. 2019; here backward goes in ascending order, as one device adds.
template <int M>
struct GPipe {
  static_assert(M > 0, "a schedule needs at least one micro-batch");
  static constexpr const char* name = "gpipe";
  static constexpr int micro_batches = M;
  static constexpr int stages_of_rank = 1;

  template <int P>
  [[nodiscard]] static constexpr auto table() {
    Table<P, 2 * M> made{.stages = P, .micro_batches = M};
    for (int rank = 0; rank < P; ++rank) {
      for (int m = 0; m < M; ++m) made.add(rank, {Work::forward, rank, m});
      for (int m = 0; m < M; ++m) made.add(rank, {Work::backward, rank, m});
    }
    return made;
  }

  //! The most micro-batches that a rank holds.
  [[nodiscard]] static constexpr int live(int /*ranks*/, int /*rank*/) { return M; }

  //! The time in which the busiest rank does nothing, for equal stages.
  [[nodiscard]] static constexpr int bubble(int ranks, const Costs& costs) {
    return (ranks - 1) * costs.all();
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::GPipe;
}
