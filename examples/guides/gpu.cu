// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// The first program on two logical devices of one GPU, or of two. Compiled by nvcc, not run by the
// tests.
//
//     build/examples/guide_gpu

#include <weft/cuda.cuh>
#include "../course/reversal.hpp"
#include <cstdio>
using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss, optim::Adam, Cuda>;

int main() {
  const DeviceGroup<Cuda> devices(/*devices=*/2);
  Train train(devices,
              Train::Objective(Model({.source_vocabulary = 24, .target_vocabulary = 24,
                                      .longest = 16},
                                     nn::Dropouts::everywhere(0.1f)),
                               nn::LabelSmoothing(0.1f)),
              optim::Adam(), {.seed = 1, .lanes = 2, .micro_batches = 2});
  for (std::uint32_t update = 0; update < 600; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/32, update);
    const auto report = train.step(train::DeviceBatch(batch), /*rate=*/0.005);
    if (update % 100 == 0) {
      std::printf("%.3f\n", mean(report.loss.loss, report.loss.tokens).value());
    }
  }
}
