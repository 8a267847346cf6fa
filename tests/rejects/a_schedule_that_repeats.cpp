// expect: a schedule's table has an action twice
// names: Rank<0>
// names: MicroBatch<0>
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/proof.hpp>

using namespace weft::parallel;

struct Stutter {
  static constexpr int micro_batches = 2;
  static constexpr int stages_of_rank = 1;
  template <int P>
  static constexpr auto table() {
    Table<P, 4> made{.stages = P, .micro_batches = 2};
    for (int rank = 0; rank < P; ++rank) {
      for (const int m : {0, 0}) made.add(rank, {Work::forward, rank, m});
      for (const int m : {0, 1}) made.add(rank, {Work::backward, rank, m});
    }
    return made;
  }
};

const Proof<Stutter, 2> proof;
