// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws the schedules that docs/ shows: schedule_pictures FOLDER. Four ranks, eight micro-batches,
// and actions that take the same time, so that they can be compared.

#include "eager_forward.hpp"

#include <weft/io/atomic_file.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/schedule/interleaved.hpp>
#include <weft/parallel/schedule/one_forward_one_backward.hpp>
#include <weft/parallel/schedule/proof.hpp>
#include <weft/parallel/schedule/svg.hpp>
#include <weft/parallel/schedule/zero_bubble.hpp>

#include <cstdio>
#include <string>

using namespace weft;

template <class S>
void draw(const std::string& folder) {
  // [draw]
  constexpr int ranks = 4;
  static_assert(sizeof(parallel::Proof<S, ranks>) > 0);
  const auto picture = parallel::svg(parallel::table_of<S, ranks>.view());
  // [draw]
  io::write_file(folder + "/schedule-" + S::name + ".svg", picture);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: schedule_pictures FOLDER\n");
    return 2;
  }
  constexpr int M = 8;
  draw<GPipe<M>>(argv[1]);
  draw<OneForwardOneBackward<M>>(argv[1]);
  draw<Interleaved<M, 2>>(argv[1]);
  draw<ZeroBubble<M>>(argv[1]);
  draw<guides::EagerForward<M>>(argv[1]);
}
