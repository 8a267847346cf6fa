// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// A training step of the language model of PyTorch's pipeline tutorial, an eighth as wide: 4 layers
// of d_model = d_ff = 512, 28,782 words, gradients clipped at 0.5, SGD. See serve.hpp.

#include "text_batch.hpp"
#include "training.hpp"

#include <weft/nn/criteria.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/optim/sgd.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/gradient_accumulation.hpp>

using namespace weft;
using namespace benchmark;

namespace {

constexpr index_t vocabulary = 28782;
constexpr nn::LanguageModelShape shape{.d_model = 512,
                                       .heads = 16,
                                       .d_ff = 512,
                                       .layers = 4,
                                       .norm = nn::Norm::post,
                                       .attention_bias = true,
                                       .generator_bias = true};
using Model = nn::LanguageModel<shape>;
using Loss = Chunked<nn::LanguageModelGenerator<shape>, nn::CrossEntropy>;

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(
      argc, argv, R"({"sequences": 20, "length": 25, "dropout": 0.2, "threads": 1})",
      [](const Json& settings) {
        Cpu device(settings.at("threads"));
        device.set_product_precision(precision(settings));
        GradientAccumulation<Model, Loss, optim::Sgd> strategy(
            device,
            parallel::Objective<Model, Loss>(
                Model(vocabulary, 1024, nn::Dropouts::everywhere(settings.at("dropout"))),
                nn::CrossEntropy()),
            optim::Sgd(), {.clip_norm = 0.5});
        const auto batch = timed_text(settings.at("sequences"), settings.at("length"), vocabulary);
        return serve(training_commands(strategy, batch, /*rate=*/0.1));
      });
}
