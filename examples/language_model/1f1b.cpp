// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains in stages on two ranks: as soon as a stage can go backward it does, and keeps less.

#include "pipeline.hpp"
#include "program.hpp"

#include <weft/parallel/schedule/one_forward_one_backward.hpp>

struct OneForwardOneBackward {
  static constexpr const char* name = "1f1b";
  static constexpr int ranks = 2;
};

int main(int argc, char** argv) {
  return language_model::run<
      language_model::Pipeline<OneForwardOneBackward, weft::OneForwardOneBackward<8>>>(argc, argv);
}
