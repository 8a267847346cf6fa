// expect: what a schedule promises of memory is a function of the class: static constexpr int live(
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/proof.hpp>

//! Promises less than it holds, but does not ask of which rank.
struct Unasked : weft::GPipe<4> {
  static constexpr int live(int) { return 1; }
};

const weft::parallel::Proof<Unasked, 2> proof;
