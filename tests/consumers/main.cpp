// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// Prints whether the loss fell, and weft's version.
#include "trainer.hpp"

#include <weft/core/version.hpp>

#include <cstdio>

int main() {
  const weft::DeviceGroup<weft::Cpu> devices(2);
  Train train(devices,
              Train::Objective(Model({.source_vocabulary = 16, .target_vocabulary = 16,
                                      .longest = 16}),
                               weft::nn::LabelSmoothing(0.1f)),
              weft::optim::Adam(), {.seed = 1, .lanes = 2, .micro_batches = 2});
  double first = 0.0, last = 0.0;
  for (std::uint32_t update = 0; update < 60; ++update) {
    const auto batch = copied_sentences(update);
    const auto report = train.step(weft::train::DeviceBatch(batch), 0.005);
    last = mean(report.loss.loss, report.loss.tokens).value();
    if (update == 0) first = last;
  }
  std::printf("weft %s: the loss %s\n", weft::version, last < 0.8 * first ? "fell" : "stayed");
}
