// expect: a batch's part(device, range) returns a parallel::MicroBatch<Input, D>
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

using Model = nn::Sequential<nn::Embedding<8>, nn::LayerNorm<8>>;
using Loss = Chunked<nn::BasicGenerator<8>, nn::CrossEntropy>;

struct Words {
  template <class D>
  struct Part {
    TokenSequences<D> input;
    Tensor<token_t, D> labels;
  };

  index_t size() const { return 1; }
  template <class D>
  Part<D> part(D&, Range) const {
    return {};
  }
};

void step(GradientAccumulation<Model, Loss>& train) { (void)train.step(Words(), 0.001); }
