// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// What weft makes of a GPU, beside the roofs of the same run: a line of JSON a figure. Built and
// run by tools/gpu.
//
// usage: gpu [--small] [SUITE...]    small sizes, to see that it runs; all suites or those named
#include <weft/cuda.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/philox.hpp>
#include <weft/generate/beam_search.hpp>
#include <weft/generate/greedy_search.hpp>
#include <weft/generate/largest_logit.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/updates.hpp>

#include "gpu/attention.cuh"
#include "gpu/harness.cuh"
#include "gpu/rows.cuh"
#include "loss_curves.hpp"
#include "text_batch.hpp"
#include "translation_models.hpp"

using namespace weft;
using namespace benchmark;

namespace {

//! What the memory and the products of a GPU reach.
void roofs(Cuda& device, index_t bytes, index_t n) {
  {
    const auto from = numbers(device, {bytes / 4});
    const Tensor<float, Cuda> to(device, {bytes / 4});
    report("roof.copy", "cudaMemcpy", "gigabytes_per_second", 2e-9 * static_cast<double>(bytes),
           seconds(device, [&] { device.copy(to.data(), from.data(), bytes); }));
  }
  const auto a = numbers(device, {n, n}), b = numbers(device, {n, n});
  const Tensor<float, Cuda> c(device, {n, n});
  const Tensor<Bfloat16, Cuda> a16(device, {n * n}), b16(device, {n * n}), c16(device, {n * n});
  ops::convert(device, n * n, a.data(), a16.data());
  ops::convert(device, n * n, b.data(), b16.data());
  const double work = 2e-12 * static_cast<double>(n) * static_cast<double>(n * n);
  const weft::detail::CublasProduct product{false, false, n, n, n, n, n, n};
  report("roof.product", "cublas_bfloat16", "teraflops_per_second", work, seconds(device, [&] {
           device.multiply(product, {a16.data(), b16.data(), c16.data()}, false);
         }));
  for (const auto precision :
       {ProductPrecision::float32, ProductPrecision::tf32, ProductPrecision::bfloat16}) {
    device.set_product_precision(precision);
    report("product", "weft_" + to_text(precision), "teraflops_per_second", work,
           seconds(device, [&] { ops::matmul_nn(device, a, b, c); }));
  }
}

Tensor<float, Cuda> zeros(Cuda& device, index_t n) {
  Tensor<float, Cuda> tensor(device, {n});
  device.clear(tensor.data(), n * 4);
  return tensor;
}

//! Adam's pass alone: 28 bytes a parameter.
void adam(Cuda& device, index_t n) {
  const auto gradients = numbers(device, {n}), values = numbers(device, {n}),
             first_moment = numbers(device, {n}), second_moment = numbers(device, {n}, /*least=*/0);
  const auto step = optim::Adam().step(1, 1e-4, 1.0);
  report("adam", "weft", "gigabytes_per_second", 28e-9 * static_cast<double>(n),
         seconds(device, [&] {
           ops::adam_update(device, step, n, 0, ops::block_count(n), gradients.data(),
                            values.data(), first_moment.data(), second_moment.data());
         }));
}

//! A layer without a model: forward, backward and Adam's step apart, and all in turn. The loss is
//! half the sum of the output's squares.
template <index_t C, index_t H, index_t F>
void encoder_layer(Cuda& device, const std::string& suite, index_t sequences, index_t length) {
  using Layer = nn::EncoderLayer<C, H, F, nn::Norm::pre, true>;
  Layer layer(nn::Dropouts::everywhere(0.1f));
  nn::ParameterLayout layout;
  nn::place_trained(layer, layout);
  const auto values =
      to_device<float>(device, nn::initial_values(layout, /*seed=*/1, layer), {layout.values});
  nn::Gradients<Cuda> gradients(device, layout);
  const auto first_moment = zeros(device, layout.trained);
  const auto second_moment = zeros(device, layout.trained);
  const std::vector<index_t> lengths(static_cast<std::size_t>(sequences), length);
  const Rows<C, Cuda> x{numbers(device, {sequences * length, C}),
                        make_layout<Cuda>(device, lengths)};
  index_t updates = 0;
  std::optional<nn::Context<Cuda>> ctx;
  std::optional<decltype(layer.forward(*ctx, x))> result;
  const auto forward = [&] {
    result.reset();  // the next one has its memory: graphs with products fit addresses
    ctx.emplace(device, values.data(), gradients, RandomKey(1, updates));
    result.emplace(layer.forward(*ctx, x));
  };
  const auto backward = [&] {
    (void)layer.backward(*ctx, std::move(result->saved), result->output);
  };
  const auto step = [&] {
    const auto update = optim::Adam().step(++updates, 1e-3, 1.0);
    optim::Adam::update(device, update, {layout.trained, 0, ops::block_count(layout.trained)},
                        gradients.data(), values.data(),
                        {first_moment.data(), second_moment.data()});
    gradients.begin();
  };
  gradients.begin();
  for (const bool graphs : {false, true}) {
    const std::string subject = graphs ? "weft_graphs" : "weft";
    device.set_graphs(graphs);
    const auto apart = seconds(device, {forward, backward, step});
    const auto all = seconds(device, [&] {
      forward();
      backward();
      step();
    });
    const auto one = [&](const char* part, Quartiles time) {
      report(suite + part, subject, "calls_per_second", 1.0, time);
    };
    one(".forward", apart[0]);
    one(".backward", apart[1]);
    one(".step", apart[2]);
    one(".all", all);
    // As training calls it, with nothing that waits.
    constexpr int calls = 100;
    const auto queued = [&](const char* part, const std::function<void()>& call) {
      report(suite + part, subject, "calls_per_second", calls, seconds(device, [&] {
               for (int i = 0; i < calls; ++i) {
                 call();
                 (void)device.stream();  // launches what a graph would wait with
               }
             }));
    };
    queued(".step_queued", step);
    queued(".all_queued", [&] {
      forward();
      backward();
      step();
    });
  }
  device.set_graphs(false);
}

//! Prints how many launches a step took for its operations.
void report_launches(const std::string& suite, const std::string& subject, index_t launches,
                     index_t operations) {
  std::printf(
      "{\"suite\": \"%s\", \"subject\": \"%s\", \"metric\": \"launches\", \"median\": %td, "
      "\"operations\": %td}\n",
      suite.c_str(), subject.c_str(), launches, operations);
}

//! What a model is trained with, under a name.
template <class Batch>
struct TrainingSuite {
  std::string name;
  Batch batch;
  index_t tokens;
};

//! Training steps of a model, in a precision, as launches and as graphs: tokens a second.
template <class Model, class Criterion, class Generator, class Batch>
void training(Cuda& device, ProductPrecision precision, const Model& model,
              const Criterion& criterion, const std::vector<TrainingSuite<Batch>>& suites) {
  device.set_product_precision(precision);
  using Loss = Chunked<Generator, Criterion>;
  GradientAccumulation<Model, Loss, optim::Adam, Cuda> strategy(
      device, parallel::Objective<Model, Loss>(model, criterion), optim::Adam(), {});
  for (const auto& [suite, batch, tokens] : suites) {
    const auto step = [&] { (void)strategy.step(batch, 1e-4); };
    for (const bool graphs : {false, true}) {
      const std::string subject = "weft_" + to_text(precision) + (graphs ? "_graphs" : "");
      device.set_graphs(graphs);
      report(suite, subject, "tokens_per_second", static_cast<double>(tokens),
             seconds(device, step));
      const index_t launches = device.launches(), operations = device.operations();
      step();
      report_launches(suite, subject, device.launches() - launches,
                      device.operations() - operations);
    }
    device.set_graphs(false);
  }
}

//! So many sequences of a length.
struct TextSize {
  std::string suite;
  index_t sequences, length;
};

template <nn::LanguageModelShape Shape>
void language_model(Cuda& device, index_t vocabulary, const std::vector<TextSize>& sizes) {
  using Model = nn::LanguageModel<Shape>;
  std::vector<TrainingSuite<TextBatch>> suites;
  for (const auto& [suite, sequences, length] : sizes) {
    suites.push_back({suite, timed_text(sequences, length, vocabulary), sequences * length});
  }
  training<Model, nn::CrossEntropy, nn::LanguageModelGenerator<Shape>>(
      device, ProductPrecision::bfloat16, Model(vocabulary, 1024, nn::Dropouts::everywhere(0.2f)),
      nn::CrossEntropy(), suites);
}

template <nn::TransformerShape Shape>
void translation(Cuda& device, index_t vocabulary, const TextSize& size) {
  using Model = nn::Transformer<Shape>;
  const auto batch = make_batch({size.sequences, size.length, size.length, vocabulary});
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float32}) {
    training<Model, nn::LabelSmoothing, nn::Generator<Shape>, train::DeviceBatch>(
        device, precision, Model({vocabulary, vocabulary, 512}, nn::Dropouts::everywhere(0.1f)),
        nn::LabelSmoothing(0.1f),
        {{size.suite, train::DeviceBatch(batch), size.sequences * size.length}});
  }
}

//! Translates sentences of so many words to as many, greedily and by a search of five at a time.
template <nn::TransformerShape Shape>
void translate(Cuda& device, const std::string& suite, index_t vocabulary, index_t sentences,
               index_t words) {
  using Model = nn::Transformer<Shape>;
  using Generator = nn::Generator<Shape>;
  const parallel::Objective<Model, Chunked<Generator, nn::LabelSmoothing>> objective(
      Model({vocabulary, vocabulary, 512}), nn::LabelSmoothing());
  const auto values =
      to_device<float>(device, nn::initial_values(objective.layout(), /*seed=*/1, objective),
                       {objective.layout().values});
  const auto batch = make_batch({sentences, words, 1, vocabulary});
  const auto source = train::to_sequences(device, batch.source, {0, sentences});
  device.set_product_precision(ProductPrecision::bfloat16);
  nn::Context<Cuda> ctx(device, values.data());
  ctx.round_weights(objective.layout());
  generate::SearchSettings settings{.max_length_b = words};
  settings.forbidden.push_back(settings.eos);  // all have the greatest length
  const Generator& generator = objective.loss().generator;
  generate::LargestLogit<Generator, Cuda> next_word(generator);
  const auto report_words = [&](const char* search, const std::function<void()>& translate_all) {
    report(suite + search, "weft_bfloat16", "words_per_second",
           static_cast<double>(sentences * words), seconds(device, translate_all));
  };
  report_words(".greedy", [&] {
    (void)generate::greedy_search(ctx, objective.model(), next_word, source, settings);
  });
  report_words(".beam_5", [&] {
    (void)generate::beam_search(ctx, objective.model(), generator, source, settings);
  });
}

constexpr nn::LanguageModelShape large{.d_model = 4096,
                                       .heads = 16,
                                       .d_ff = 4096,
                                       .layers = 12,
                                       .norm = nn::Norm::post,
                                       .attention_bias = true,
                                       .generator_bias = true};
constexpr nn::LanguageModelShape toy{.d_model = 64, .heads = 4, .d_ff = 64, .layers = 2};
constexpr nn::LanguageModelShape of_curves{.d_model = 128, .heads = 2, .d_ff = 256, .layers = 2};
constexpr nn::TransformerShape big{.d_model = 1024, .heads = 16, .d_ff = 4096, .tie = nn::Tie::all};
constexpr nn::TransformerShape toy_translation{
    .d_model = 64, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};

void curves_of_precisions(Cuda& device, const CurveSettings& settings) {
  loss_curves<of_curves>(device, "loss_curve", settings,
                         {ProductPrecision::tf32, ProductPrecision::bfloat16,
                          ProductPrecision::float16});
}

struct Suite {
  std::string name;
  std::function<void(Cuda&)> run;
};

//! What there is, the most wanted first: a run may be cut off.
std::vector<Suite> suites(bool is_small) {
  if (is_small) {
    return {
        {"roofs", [](Cuda& device) { roofs(device, 1 << 20, 64); }},
        {"language_model",
         [](Cuda& device) {
           language_model<toy>(
               device, 100,
               {{"language_model_toy.step", 2, 9}, {"language_model_toy.step_longer", 1, 20}});
         }},
        {"transformer",
         [](Cuda& device) {
           translation<toy_translation>(device, 100, {"transformer_toy.step", 3, 8});
         }},
        {"encoder_layer",
         [](Cuda& device) { encoder_layer<128, 16, 512>(device, "encoder_layer", 1, 5); }},
        {"rows", [](Cuda& device) { rows(device, {.tokens = 40, .channels = 32, .words = 100}); }},
        {"adam", [](Cuda& device) { adam(device, 10'000); }},
        {"attention", [](Cuda& device) { attention_of_lengths(device, 48, {24}); }},
        {"attention_of_sentences", [](Cuda& device) { attention_of_sentences(device, 64); }},
        {"attention_with_dropout", [](Cuda& device) { attention_with_dropout(device, 128, 64); }},
        {"translate",
         [](Cuda& device) { translate<toy_translation>(device, "translate_toy", 100, 3, 8); }},
        {"loss_curves", [](Cuda& device) { curves_of_precisions(device, {16, 2, 64}); }},
    };
  }
  return {
      {"roofs", [](Cuda& device) { roofs(device, 1 << 30, 8192); }},
      {"language_model",
       [](Cuda& device) {
         language_model<large>(device, 28782,
                               {{"language_model_large.step", 20, 25},
                                {"language_model_large.step_16384", 16, 1024}});
       }},
      {"transformer",
       [](Cuda& device) {
         translation<big>(device, 32768, {"transformer_big.step", 800, 32});
       }},
      {"encoder_layer",
       [](Cuda& device) { encoder_layer<128, 16, 512>(device, "encoder_layer", 50, 80); }},
      {"rows",
       [](Cuda& device) {
         rows(device, {.tokens = 2048, .channels = 1024, .words = 32768});
         rows(device, {.tokens = 25600, .channels = 1024, .words = 32768});
         rows(device, {.tokens = 16384, .channels = 4096, .words = 28782});
       }},
      {"adam", [](Cuda& device) { adam(device, 1'500'000'000); }},
      {"attention",
       [](Cuda& device) {
         attention_of_lengths(device, 16384, {512, 2048, 8192, 16384});
       }},
      {"attention_of_sentences", [](Cuda& device) { attention_of_sentences(device, 16384); }},
      {"attention_with_dropout", [](Cuda& device) { attention_with_dropout(device, 16384, 1024); }},
      {"translate",
       [](Cuda& device) { translate<big>(device, "translate_big", 32768, 64, 32); }},
      {"loss_curves", [](Cuda& device) { curves_of_precisions(device, {256, 32, 64}); }},
  };
}

//! The suites that the arguments name, or all.
//!
//! **Errors.** Error for a name that there is not.
std::vector<Suite> chosen(std::vector<std::string> arguments) {
  const bool is_small = std::erase(arguments, "--small") > 0;
  std::vector<Suite> all = suites(is_small);
  if (arguments.empty()) return all;
  std::vector<Suite> result;
  for (const std::string& name : arguments) {
    const auto suite = std::find_if(all.begin(), all.end(),
                                    [&](const Suite& known) { return known.name == name; });
    if (suite == all.end()) throw Error(text("there is no suite '", name, "'"));
    result.push_back(*suite);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  CountedLibrary::count();
  int status = 0;
  for (const Suite& suite : chosen({argv + 1, argv + argc})) {
    try {
      Cuda device;  // which gives its memory back afterwards
      suite.run(device);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s: %s\n", argv[0], suite.name.c_str(), error.what());
      status = 1;
    }
  }
  return status;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 2;
}
