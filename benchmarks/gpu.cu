// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// What weft makes of a GPU, beside the roofs of the same run: a line of JSON a figure. Built and
// run by tools/gpu. `gpu --small` does the same with small sizes, to see that it runs.
#include <weft/cuda.cuh>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/core/clock.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/updates.hpp>

#include "text_batch.hpp"
#include "translation_models.hpp"

using namespace weft;
using namespace benchmark;

namespace {

constexpr int repeats = 10, warm_up = 2;

struct Quartiles {
  double lower, median, upper;
};

//! Seconds that the device takes for each of some calls in turn, over ten rounds.
std::vector<Quartiles> seconds(Cuda& device, const std::vector<std::function<void()>>& calls) {
  std::vector<std::vector<double>> times(calls.size());
  for (int repeat = 0; repeat < warm_up + repeats; ++repeat) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      device.synchronize();
      const double begin = monotonic_seconds();
      calls[i]();
      device.synchronize();
      if (repeat >= warm_up) times[i].push_back(monotonic_seconds() - begin);
    }
  }
  std::vector<Quartiles> result;
  for (auto& of_call : times) {
    std::sort(of_call.begin(), of_call.end());
    result.push_back({of_call[repeats / 4], (of_call[repeats / 2 - 1] + of_call[repeats / 2]) / 2,
                      of_call[repeats - 1 - repeats / 4]});
  }
  return result;
}

//! Seconds that the device takes for a call, over ten of them.
Quartiles seconds(Cuda& device, const std::function<void()>& call) {
  return seconds(device, std::vector{call}).front();
}

//! Prints `amount` over the time of a call: a rate, in units of `metric`.
void report(const std::string& suite, const std::string& subject, const char* metric, double amount,
            Quartiles time) {
  std::printf(
      "{\"suite\": \"%s\", \"subject\": \"%s\", \"metric\": \"%s\", \"median\": %.6g, "
      "\"lower_quartile\": %.6g, \"upper_quartile\": %.6g, \"time_ms\": %.6g, "
      "\"repeats\": %d}\n",
      suite.c_str(), subject.c_str(), metric, amount / time.median, amount / time.upper,
      amount / time.lower, 1e3 * time.median, repeats);
  std::fflush(stdout);
}

//! An array of numbers of both signs: what tensor cores multiply decides how fast their clock is.
Tensor<float, Cuda> numbers(Cuda& device, Shape shape) {
  std::vector<float> host(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < host.size(); ++i) {
    host[i] = static_cast<float>((i * 7919 + 13) % 2001) / 1000.0f - 1.0f;
  }
  return to_device<float>(device, host, shape);
}

//! What the memory and the products of a GPU reach.
void roofs(Cuda& device, index_t bytes, index_t n) {
  const Tensor<float, Cuda> from(device, {bytes / 4}), to(device, {bytes / 4});
  device.clear(from.data(), bytes);
  report("roof.copy", "cudaMemcpy", "gigabytes_per_second", 2e-9 * static_cast<double>(bytes),
         seconds(device, [&] { device.copy(to.data(), from.data(), bytes); }));

  const auto a = numbers(device, {n, n}), b = numbers(device, {n, n});
  const Tensor<float, Cuda> c(device, {n, n});
  const Tensor<Bfloat16, Cuda> a16(device, {n * n}), b16(device, {n * n});
  ops::convert(device, n * n, a.data(), a16.data());
  ops::convert(device, n * n, b.data(), b16.data());
  const double work = 2e-12 * static_cast<double>(n) * static_cast<double>(n * n);
  const weft::detail::CublasProduct product{false, false, n, n, n, n, n, n};
  report("roof.product", "cublas_bfloat16", "teraflops_per_second", work, seconds(device, [&] {
           device.multiply(product, {a16.data(), b16.data(), c.data()}, false);
         }));
  for (const auto precision :
       {ProductPrecision::float32, ProductPrecision::tf32, ProductPrecision::bfloat16}) {
    device.set_product_precision(precision);
    report("product", "weft_" + to_text(precision), "teraflops_per_second", work,
           seconds(device, [&] { ops::matmul_nn(device, a, b, c); }));
  }
}

//! Attention alone, of `tokens` tokens in sequences of a length, with 2,048 channels in all. Causal
//! attention is counted as half.
template <index_t Size>
void attention(Cuda& device, index_t tokens, index_t length, bool causal) {
  constexpr index_t C = 2048, H = C / Size;
  const std::vector<index_t> lengths(static_cast<std::size_t>(tokens / length), length);
  const auto layout = make_layout(device, lengths);
  const Tensor<float, Cuda> log_sums(device, {tokens, H});
  const ops::AttentionProblem<Cuda> problem{H, Size, causal, 0.1f, layout.get(), layout.get(), {}};
  const double work =
      4e-12 * static_cast<double>(tokens) * static_cast<double>(length * C) / (causal ? 2.0 : 1.0);
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float32}) {
    device.set_product_precision(precision);
    // Rows are what modules make them: rounded where products are.
    const auto array = [&] { return ops::Factor<Cuda>(numbers(device, {tokens, C})); };
    const auto q = array(), k = array(), v = array(), y = array(), dy = array();
    const auto dq = array(), dk = array(), dv = array();
    const auto in = [&](const auto& x) { return ops::AnyHeadRows(x.numbers(), C); };
    const auto out = [&](const auto& x) { return ops::AnyHeadRows(x.target().numbers, C); };
    const std::string name = text("head_", Size, ".length_", length, causal ? ".causal" : "");
    report("attention.forward." + name, "weft_" + to_text(precision), "teraflops_per_second", work,
           seconds(device, [&] {
             ops::attention(device, problem, in(q), in(k), in(v), out(y), log_sums.data(),
                            ops::HeadSize<Size>());
           }));
    report("attention.backward." + name, "weft_" + to_text(precision), "teraflops_per_second",
           2.5 * work, seconds(device, [&] {
             ops::attention_backward(device, problem, in(q), in(k), in(v), in(y), log_sums.data(),
                                     in(dy), out(dq), out(dk), out(dv), ops::HeadSize<Size>());
           }));
  }
}

Tensor<float, Cuda> zeros(Cuda& device, index_t n) {
  Tensor<float, Cuda> tensor(device, {n});
  device.clear(tensor.data(), n * 4);
  return tensor;
}

//! Adam's pass alone: 28 bytes a parameter.
void adam(Cuda& device, index_t n) {
  std::vector<Tensor<float, Cuda>> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(zeros(device, n));
  const auto step = optim::Adam().step(1, 1e-4, 1.0);
  report("adam", "weft", "gigabytes_per_second", 28e-9 * static_cast<double>(n),
         seconds(device, [&] {
           ops::adam_update(device, step, n, 0, ops::block_count(n), buffers[0].data(),
                            buffers[1].data(), buffers[2].data(), buffers[3].data());
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
  std::vector<float> numbers(static_cast<std::size_t>(sequences * length * C));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((i * 7919 + 13) % 2001) / 500.0f - 2.0f;
  }
  const Rows<C, Cuda> x{to_device<float>(device, numbers, {sequences * length, C}),
                        make_layout<Cuda>(device, lengths)};
  index_t updates = 0;
  std::optional<nn::Context<Cuda>> ctx;
  std::optional<decltype(layer.forward(*ctx, x))> result;
  const auto forward = [&] {
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

//! A training step of a model, in a precision, as launches and as graphs: tokens a second.
template <class Model, class Criterion, class Generator, class Batch>
void training(Cuda& device, const std::string& suite, ProductPrecision precision,
              const Model& model, const Criterion& criterion, const Batch& batch, index_t tokens) {
  device.set_product_precision(precision);
  using Loss = Chunked<Generator, Criterion>;
  GradientAccumulation<Model, Loss, optim::Adam, Cuda> strategy(
      device, parallel::Objective<Model, Loss>(model, criterion), optim::Adam(), {});
  const auto step = [&] { (void)strategy.step(batch, 1e-4); };
  for (const bool graphs : {false, true}) {
    const std::string subject = "weft_" + to_text(precision) + (graphs ? "_graphs" : "");
    device.set_graphs(graphs);
    report(suite, subject, "tokens_per_second", static_cast<double>(tokens), seconds(device, step));
    const index_t launches = device.launches(), operations = device.operations();
    step();
    report_launches(suite, subject, device.launches() - launches, device.operations() - operations);
  }
  device.set_graphs(false);
}

template <nn::LanguageModelShape Shape>
void language_model(Cuda& device, const std::string& suite, index_t sequences, index_t length,
                    index_t vocabulary) {
  using Model = nn::LanguageModel<Shape>;
  training<Model, nn::CrossEntropy, nn::LanguageModelGenerator<Shape>>(
      device, suite, ProductPrecision::bfloat16,
      Model(vocabulary, 1024, nn::Dropouts::everywhere(0.2f)), nn::CrossEntropy(),
      TextBatch(sequences, length, vocabulary), sequences * length);
}

template <nn::TransformerShape Shape>
void translation(Cuda& device, const std::string& suite, index_t sentences, index_t length,
                 index_t vocabulary) {
  using Model = nn::Transformer<Shape>;
  const auto batch = make_batch({sentences, length, length, vocabulary});
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float32}) {
    training<Model, nn::LabelSmoothing, nn::Generator<Shape>>(
        device, suite, precision,
        Model({vocabulary, vocabulary, 512}, nn::Dropouts::everywhere(0.1f)),
        nn::LabelSmoothing(0.1f), train::DeviceBatch(batch), sentences * length);
  }
}

constexpr nn::LanguageModelShape large{.d_model = 4096,
                                       .heads = 16,
                                       .d_ff = 4096,
                                       .layers = 12,
                                       .norm = nn::Norm::post,
                                       .attention_bias = true,
                                       .generator_bias = true};
constexpr nn::LanguageModelShape toy{.d_model = 64, .heads = 4, .d_ff = 64, .layers = 2};
constexpr nn::TransformerShape big{.d_model = 1024, .heads = 16, .d_ff = 4096, .tie = nn::Tie::all};
constexpr nn::TransformerShape toy_translation{
    .d_model = 64, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};

//! Calls `f(device)` with a device that gives its memory back afterwards.
template <class F>
void on_a_gpu(const F& f) {
  Cuda device;
  f(device);
}

void run(bool is_small) {
  on_a_gpu(
      [&](Cuda& device) { roofs(device, is_small ? 1 << 20 : 1 << 30, is_small ? 64 : 8192); });
  on_a_gpu([&](Cuda& device) {
    const index_t tokens = is_small ? 48 : 16384;
    for (const index_t length :
         is_small ? std::vector<index_t>{24} : std::vector<index_t>{512, 2048, 8192, 16384}) {
      for (const bool causal : {false, true}) {
        attention<64>(device, tokens, length, causal);
        attention<128>(device, tokens, length, causal);
      }
    }
  });
  on_a_gpu([&](Cuda& device) { adam(device, is_small ? 10'000 : 1'500'000'000); });
  on_a_gpu([&](Cuda& device) {
    encoder_layer<128, 16, 512>(device, "encoder_layer", is_small ? 1 : 50, is_small ? 5 : 80);
  });
  if (is_small) {
    on_a_gpu(
        [](Cuda& device) { language_model<toy>(device, "language_model_toy.step", 2, 9, 100); });
    on_a_gpu([](Cuda& device) {
      translation<toy_translation>(device, "transformer_toy.step", 3, 8, 100);
    });
    return;
  }
  on_a_gpu([](Cuda& device) { translation<big>(device, "transformer_big.step", 800, 32, 32768); });
  on_a_gpu([](Cuda& device) {
    language_model<large>(device, "language_model_large.step", 20, 25, 28782);
  });
  on_a_gpu([](Cuda& device) {
    language_model<large>(device, "language_model_large.step_16384", 16, 1024, 28782);
  });
}

}  // namespace

int main(int argc, char** argv) try {
  run(argc > 1 && std::strcmp(argv[1], "--small") == 0);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
