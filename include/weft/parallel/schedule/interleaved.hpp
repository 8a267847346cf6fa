// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The schedule in which a rank has several stages.
#pragma once

#include <algorithm>

#include <weft/core/chunks.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! 1F1B with V smaller stages a rank: stages r, r + P, r + 2P, ... are on rank r, and micro-batches
//! go through each of them in groups.
//!
//! **Memory.** On rank r of P the activations of min(M V, (V - 1) g + 2 (P - 1 - r) + 1)
//! micro-batches in one stage, for groups of g.
//! **Cost.** Stages are V times smaller, and so is the time in which a rank does nothing, if no
//! group has fewer than P micro-batches; messages are V times as many.
//! **Source.** Narayanan et al. 2021, for any number of micro-batches: groups are of P or a few
//! more.
template <int M, int V>
struct Interleaved {
  static_assert(M > 0, "a schedule needs at least one micro-batch");
  static_assert(V > 0, "an interleaved schedule needs at least one stage a rank");
  static constexpr const char* name = "interleaved";
  static constexpr int micro_batches = M;
  static constexpr int stages_of_rank = V;

  template <int P>
  [[nodiscard]] static constexpr auto table() {
    Table<P, 2 * M * V> made{.stages = P * V, .micro_batches = M};
    for (int rank = 0; rank < P; ++rank) {
      // Work i of a rank, forth or back: groups one after the other, in each stage after stage.
      Action forward[M * V] = {};
      Action backward[M * V] = {};
      int place = 0;
      for (int group = 0; group < groups(P); ++group) {
        const int begin = first_of(P, group);
        const int end = first_of(P, group + 1);
        for (int v = 0; v < V; ++v) {
          for (int m = begin; m < end; ++m) {
            forward[place] = {Work::forward, v * P + rank, m};
            backward[place++] = {Work::backward, (V - 1 - v) * P + rank, m};
          }
        }
      }
      const int ahead = std::min(M * V, (V - 1) * first_of(P, 1) + 2 * (P - 1 - rank));
      for (int i = 0; i < ahead; ++i) made.add(rank, forward[i]);
      for (int i = 0; i < M * V; ++i) {
        if (i + ahead < M * V) made.add(rank, forward[i + ahead]);
        made.add(rank, backward[i]);
      }
    }
    return made;
  }

  //! The most micro-batches that a rank holds, each stage's on their own.
  [[nodiscard]] static constexpr int live(int ranks, int rank) {
    return std::min(M * V, (V - 1) * first_of(ranks, 1) + 2 * (ranks - 1 - rank) + 1);
  }

  //! The time in which the busiest rank does nothing, for equal stages of these costs.
  [[nodiscard]] static constexpr int bubble(int ranks, const Costs& costs) {
    return ((ranks - 1) + (V - 1) * std::max(0, ranks - M)) * costs.all();
  }

 private:
  static constexpr int groups(int ranks) { return std::max(1, M / ranks); }

  //! The first micro-batch of a group; the sizes differ by one at most, the larger first.
  static constexpr int first_of(int ranks, int group) {
    return M - static_cast<int>(share(M, groups(ranks), groups(ranks) - group).begin);
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::Interleaved;
}
