// expect: the batch does not bring what the model reads: a Transformer takes train::DeviceBatch
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/language_model_data.hpp>
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

void step(DataParallel<Model, Loss>& train, const train::LanguageModelDeviceBatch& batch) {
  (void)train.step(batch, 0.001);
}
