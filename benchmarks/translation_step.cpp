// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// One training step of a translation model, on request: what benchmarks/compare.py times beside the
// same step in PyTorch.
//
//     translation_step base|tiny SENTENCES SOURCE_LENGTH TARGET_LENGTH DEVICES THREADS CHUNK
//     DROPOUT
//
// Commands on standard input, an answer a line: "save FILE" writes the parameters, "loss" gives the
// loss per token without dropout, "step" makes an update and gives its milliseconds, "peak" gives
// the largest resident memory in bytes.

#include "translation_models.hpp"

#include <weft/core/clock.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/saved_model.hpp>

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace weft;
using namespace benchmark;

namespace {

template <nn::TransformerShape Shape>
void serve(const Sizes& sizes, char** argv) {
  using Model = nn::Transformer<Shape>;
  using Loss = Chunked<nn::Generator<Shape>, nn::LabelSmoothing>;
  using Strategy = DataParallel<Model, Loss>;
  const int devices = std::atoi(argv[5]);
  const DeviceGroup<Cpu> group(devices, std::atoi(argv[6]));
  const float dropout = std::strtof(argv[8], nullptr);
  Strategy strategy(group,
                    typename Strategy::Objective(Model({sizes.vocabulary, sizes.vocabulary, 512},
                                                       nn::Dropouts::everywhere(dropout)),
                                                 nn::LabelSmoothing(0.1f), std::atol(argv[7])),
                    optim::Adam({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}),
                    {.lanes = devices, .micro_batches = devices});
  const auto batch = make_batch(sizes);
  for (std::string command; std::cin >> command;) {
    if (command == "save") {
      std::string path;
      std::cin >> path;
      train::save_model(strategy, path, {});
      std::printf("saved\n");
    } else if (command == "loss") {
      const auto sum = strategy.evaluate(train::DeviceBatch(batch));
      std::printf("%.9g\n", mean(sum.loss, sum.tokens).value());
    } else if (command == "step") {
      const double begin = monotonic_seconds();
      (void)strategy.step(train::DeviceBatch(batch), 1e-4);
      const double time_ms = 1e3 * (monotonic_seconds() - begin);
      std::printf("%.3f\n", time_ms);
    } else if (command == "peak") {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      std::printf("%ld\n", usage.ru_maxrss * 1024L);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: see the head of translation_step.cpp\n");
    return 2;
  }
  const bool is_base = std::string(argv[1]) == "base";
  const Sizes sizes{std::atol(argv[2]), std::atol(argv[3]), std::atol(argv[4]),
                    is_base ? 32000 : 9712};
  is_base ? serve<base>(sizes, argv) : serve<tiny>(sizes, argv);
}
