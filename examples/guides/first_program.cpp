// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A translation model learns to turn sentences around, on two logical devices. It shows the loss of
// every hundredth update, smoothed, in nats a token.
//
//     build/examples/guides/guide_first_program
//
// Prints, to within 5 %:
//   3.831
//   2.092
//   1.906
//   1.618
//   1.366
//   1.324

#include <weft/weft.hpp>
#include "reversal.hpp"  // in examples/course: sentences, and the same sentences reversed
#include <cstdio>
using namespace weft;

// [types]
constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = DataParallel<Model, Loss>;  // the line that says where the work runs
// [types]

int main() {
  const DeviceGroup<Cpu> devices(/*devices=*/2, /*threads_each=*/1);
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
