// expect: a strategy takes a batch that brings its parts to a device: for a data::TranslationBatch
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

void step(DataParallel<Model, Loss>& train, const data::TranslationBatch& batch) {
  (void)train.step(batch, 0.001);
}
