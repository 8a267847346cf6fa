// expect: a schedule's table deadlocks: an action waits for what comes only after it
// names: Rank<0>
// names: Work::backward
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/proof.hpp>

using namespace weft::parallel;

//! The second rank waits for the backward of the first, which waits for it.
struct Backwards {
  static constexpr int micro_batches = 1;
  static constexpr int stages_of_rank = 1;
  template <int P>
  static constexpr auto table() {
    Table<P, 2> made{.stages = P, .micro_batches = 1};
    for (int rank = 0; rank < P; ++rank) {
      made.add(rank, {rank > 0 ? Work::backward : Work::forward, rank, 0});
      made.add(rank, {rank > 0 ? Work::forward : Work::backward, rank, 0});
    }
    return made;
  }
};

const Proof<Backwards, 2> proof;
