// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A schedule in which weight gradients fill the time that 1F1B loses.
#pragma once

#include <algorithm>

#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

namespace weft::parallel {

//! 1F1B whose weight gradients are computed apart: rank r puts off those of r micro-batches until
//! the others have what they wait for.
//!
//! **Memory.** On every rank the activations of min(M, P) micro-batches, until their weight
//! gradients are there; of min(M, P - r) until their backward is. Of up to r micro-batches also the
//! gradients of products' outputs, which those of weights are made from.
//! **Cost.** (P - 1)(F + B) - (min(M, P) - 1) min(F, B, W) in which a rank does nothing, for a
//! stage that takes F, B and W a micro-batch.
//! **Source.** Qi et al. 2023 (ZB-H1).
template <int M>
struct ZeroBubble {
  static_assert(M > 0, "a schedule needs at least one micro-batch");
  static constexpr const char* name = "zero-bubble";
  static constexpr int micro_batches = M;
  static constexpr int stages_of_rank = 1;

  template <int P>
  [[nodiscard]] static constexpr auto table() {
    Table<P, 3 * M> made{.stages = P, .micro_batches = M, .splits_backward = true};
    for (int rank = 0; rank < P; ++rank) {
      const int ahead = std::min(M, P - 1 - rank);
      int added = 0;
      for (int m = 0; m < ahead; ++m) made.add(rank, {Work::forward, rank, m});
      for (int m = 0; m < M; ++m) {
        if (m + ahead < M) made.add(rank, {Work::forward, rank, m + ahead});
        made.add(rank, {Work::backward, rank, m});
        if (m >= rank) made.add(rank, {Work::weight_gradients, rank, added++});
      }
      while (added < M) made.add(rank, {Work::weight_gradients, rank, added++});
    }
    return made;
  }

  //! The most micro-batches that a rank holds until their weight gradients are there.
  [[nodiscard]] static constexpr int live(int ranks, int /*rank*/) { return std::min(M, ranks); }

  //! The time in which the busiest rank does nothing, for equal stages.
  [[nodiscard]] static constexpr int bubble(int ranks, const Costs& costs) {
    const int least = std::min({costs.forward, costs.backward, costs.weight_gradients});
    return (ranks - 1) * (costs.forward + costs.backward) - (std::min(M, ranks) - 1) * least;
  }
};

}  // namespace weft::parallel

namespace weft {
using parallel::ZeroBubble;
}
