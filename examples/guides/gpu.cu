// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The first program on two logical devices of one GPU. Compiled by nvcc, not run by the tests.

// [include]
#include <weft/cuda.cuh>
#include <weft/weft.hpp>
using namespace weft;
// [include]

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

// [alias]
using Train = DataParallel<Model, Loss, optim::Adam, Cuda>;
// [alias]

void train_on_gpu(const data::TranslationBatch& batch) {
  const Train::Objective objective(
      Model({.source_vocabulary = 24, .target_vocabulary = 24, .longest = 16}),
      nn::LabelSmoothing(0.1f));
  // [step]
  const DeviceGroup<Cuda> devices(/*devices=*/2);  // of one GPU, or of two
  Train train(devices, objective, optim::Adam(), {.seed = 1, .lanes = 2, .micro_batches = 2});
  train.step(train::DeviceBatch(batch), /*rate=*/0.005);
  // [step]
}
