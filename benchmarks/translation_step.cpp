// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A training step of a translation model: forward, backward and Adam's update. See serve.hpp.

#include "training.hpp"
#include "translation_models.hpp"

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/data_parallel.hpp>
#include <weft/train/device_batch.hpp>

using namespace weft;
using namespace benchmark;

namespace {

template <nn::TransformerShape Shape>
int run(const Json& settings, index_t vocabulary) {
  using Loss = Chunked<nn::Generator<Shape>, nn::LabelSmoothing>;
  using Strategy = DataParallel<nn::Transformer<Shape>, Loss>;
  const DeviceGroup<Cpu> group(1, settings.at("threads"));
  group[0].set_product_precision(precision(settings));
  Strategy strategy(group,
                    typename Strategy::Objective(
                        nn::Transformer<Shape>({vocabulary, vocabulary, 512},
                                               nn::Dropouts::everywhere(settings.at("dropout"))),
                        nn::LabelSmoothing(0.1f), settings.at("chunk")),
                    optim::Adam({.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}), {});
  const auto batch = make_batch({settings.at("sentences"), settings.at("source_length"),
                                 settings.at("target_length"), vocabulary});
  return serve(training_commands(strategy, train::DeviceBatch(batch), /*rate=*/1e-4));
}

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(
      argc, argv,
      R"({"shape": "tiny", "sentences": 256, "source_length": 16, "target_length": 16, )"
      R"("chunk": 5, "dropout": 0.1, "threads": 1})",
      [](const Json& settings) {
        return settings.at("shape") == "base" ? run<base>(settings, 32000)
                                              : run<tiny>(settings, 9712);
      });
}
