// expect: a schedule's table<P>() is of other ranks, stages or micro-batches than the
// names: Extents<2, 2, 1>
// names: Extents<2, 4, 1>
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/proof.hpp>

//! GPipe's table has one stage on each rank.
struct Doubled : weft::GPipe<1> {
  static constexpr int stages_of_rank = 2;
};

const weft::parallel::Proof<Doubled, 2> proof;
