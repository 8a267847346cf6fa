// expect: a schedule's table holds more micro-batches at a time than the schedule says
// names: Rank<1>, 4, 3
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/proof.hpp>

using namespace weft;

//! GPipe's table holds all four on both ranks.
struct Modest : GPipe<4> {
  static constexpr int live(int, int rank) { return 4 - rank; }
};

const parallel::Proof<Modest, 2> proof;
