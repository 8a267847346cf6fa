// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Trains in stages on two ranks, with a replica of the model on each further two.

#include "pipeline.hpp"
#include "program.hpp"

#include <weft/parallel/schedule/one_forward_one_backward.hpp>

struct Replicas {
  static constexpr const char* name = "replicas";
  static constexpr int ranks = 4;
};

int main(int argc, char** argv) {
  return language_model::run<
      language_model::Pipeline<Replicas, weft::OneForwardOneBackward<8>, weft::Zero<1>>>(argc,
                                                                                         argv);
}
