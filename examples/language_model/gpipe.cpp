// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains in stages on two ranks: all micro-batches forward, then all of them backward.

#include "pipeline.hpp"
#include "program.hpp"

#include <weft/parallel/schedule/gpipe.hpp>

struct GPipe {
  static constexpr const char* name = "gpipe";
  static constexpr int ranks = 2;
};

int main(int argc, char** argv) {
  return language_model::run<language_model::Pipeline<GPipe, weft::GPipe<8>>>(argc, argv);
}
