// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains in stages on two ranks, which compute weights' gradients where they would wait.

#include "pipeline.hpp"
#include "program.hpp"

#include <weft/parallel/schedule/zero_bubble.hpp>

struct ZeroBubble {
  static constexpr const char* name = "zero_bubble";
  static constexpr int ranks = 2;
};

int main(int argc, char** argv) {
  return language_model::run<language_model::Pipeline<ZeroBubble, weft::ZeroBubble<8>>>(argc, argv);
}
