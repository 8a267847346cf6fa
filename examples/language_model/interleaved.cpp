// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains in four stages on two ranks, the first and the third on one: they wait half as long.

#include "pipeline.hpp"
#include "program.hpp"

#include <weft/parallel/schedule/interleaved.hpp>

struct Interleaved {
  static constexpr const char* name = "interleaved";
  static constexpr int ranks = 2;
};

int main(int argc, char** argv) {
  return language_model::run<language_model::Pipeline<Interleaved, weft::Interleaved<8, 2>>>(argc,
                                                                                             argv);
}
