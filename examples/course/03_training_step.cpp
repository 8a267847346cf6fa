// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A Transformer learns to turn sentences around: model, loss and strategy are types.
//
//     build/examples/course/03_training_step
//
// Prints:
//   23424 parameters
//   the loss fell below a tenth of its start: yes
//   4 5 6 7 8 -> 8 7 6 5 4

#include "reversal.hpp"

#include <weft/weft.hpp>

#include <cstdio>

using namespace weft;

constexpr nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;
using Train = GradientAccumulation<Model, Loss>;

int main() {
  Cpu device;
  Train train(device,
              Train::Objective(Model({.source_vocabulary = 24, .target_vocabulary = 24,
                                      .longest = 16}),
                               nn::LabelSmoothing(0.0f)),
              optim::Adam({.beta2 = 0.98}), {.seed = 1});
  std::printf("%lld parameters\n",
              static_cast<long long>(train.objective().layout().trained));

  double first = 0.0, last = 0.0;
  for (std::uint32_t update = 0; update < 600; ++update) {
    const auto batch = course::reversal_batch(/*sentences=*/32, update);
    const auto report = train.step(train::DeviceBatch(batch), /*rate=*/0.003);
    last = mean(report.loss.loss, report.loss.tokens).value();
    if (update == 0) first = last;
  }
  std::printf("the loss fell below a tenth of its start: %s\n", last < first / 10 ? "yes" : "no");

  data::TokenRows source;
  source.tokens = {4, 5, 6, 7, 8};
  source.end_row();
  const auto found = train::translate(train, source, course::eos, {.beam = 4});
  std::printf("4 5 6 7 8 ->");
  for (const token_t token : found[0].tokens) std::printf(" %d", token);
  std::printf("\n");
}
