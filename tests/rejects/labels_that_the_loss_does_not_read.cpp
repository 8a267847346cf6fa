// expect: the batch's labels are not what the loss reads
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

struct Measured {
  index_t size() const { return 0; }
  parallel::MicroBatch<nn::TranslationInput<>, Cpu, Tensor<float>> part(Cpu&, Range) const {
    return {};
  }
};

void step(DataParallel<Model, Loss>& train, const Measured& batch) {
  (void)train.step(batch, 0.001);
}
