// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// One training step of a translation model, on request: what benchmarks/compare.py times beside the
// same step in PyTorch.
//
//     translation_step base|tiny SENTENCES SOURCE_LENGTH TARGET_LENGTH DEVICES THREADS CHUNK DROPOUT
//
// Commands on standard input, an answer a line: "save FILE" writes the parameters, "loss" gives the
// loss per token without dropout, "step" makes an update and gives its milliseconds, "peak" gives
// the largest resident memory in bytes.

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/train/device_batch.hpp>
#include <weft/train/saved_model.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace weft;

namespace {

struct Sizes {
  index_t sentences, source_length, target_length, vocabulary;
};

//! Token i of a side: the same in benchmarks/peers/torch_translation.py.
token_t word(index_t i, index_t side, index_t vocabulary) {
  return static_cast<token_t>(4 + (i * 7919 + side * 104729 + 13) % (vocabulary - 4));
}

data::TranslationBatch make_batch(const Sizes& sizes) {
  data::TranslationBatch batch;
  for (index_t b = 0; b < sizes.sentences; ++b) {
    for (index_t t = 0; t < sizes.source_length; ++t) {
      batch.source.tokens.push_back(word(b * sizes.source_length + t, 0, sizes.vocabulary));
    }
    batch.source.end_row();
    for (index_t t = 0; t < sizes.target_length; ++t) {
      const index_t i = b * sizes.target_length + t;
      batch.target_input.tokens.push_back(word(i, 1, sizes.vocabulary));
      batch.target_output.tokens.push_back(word(i + 1, 1, sizes.vocabulary));
    }
    batch.target_input.end_row();
    batch.target_output.end_row();
    batch.sentences.push_back(b);
  }
  return batch;
}

template <nn::TransformerShape Shape>
void serve(const Sizes& sizes, char** argv) {
  using Model = nn::Transformer<Shape>;
  using Loss = Chunked<nn::Generator<Shape>, nn::LabelSmoothing>;
  using Strategy = DataParallel<Model, Loss>;
  const int devices = std::atoi(argv[5]);
  const DeviceGroup<Cpu> group(devices, std::atoi(argv[6]));
  const float dropout = std::strtof(argv[8], nullptr);
  Strategy strategy(group,
                    typename Strategy::Objective(
                        Model({sizes.vocabulary, sizes.vocabulary, 512},
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
      const auto begin = std::chrono::steady_clock::now();
      (void)strategy.step(train::DeviceBatch(batch), 1e-4);
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - begin;
      std::printf("%.3f\n", time.count());
    } else if (command == "peak") {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      std::printf("%ld\n", usage.ru_maxrss * 1024L);
    }
    std::fflush(stdout);
  }
}

//! The model of 93,255,680 parameters: the default shape, vocabularies of 32,000.
constexpr nn::TransformerShape base{};
//! fairseq's transformer_tiny.
constexpr nn::TransformerShape tiny{.d_model = 128,
                                    .heads = 4,
                                    .d_ff = 256,
                                    .encoder_layers = 4,
                                    .decoder_layers = 4,
                                    .norm = nn::Norm::post,
                                    .attention_bias = true,
                                    .tie = nn::Tie::all};

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
