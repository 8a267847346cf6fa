// expect: a struct with size() const and part(device, range) const
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

struct Sentences {
  index_t size() const { return 0; }
  parallel::MicroBatch<nn::TranslationInput<>, Cpu> part(Cpu&, Range) { return {}; }
};

void step(DataParallel<Model, Loss>& train, const Sentences& batch) {
  (void)train.step(batch, 0.001);
}
