// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Generator and loss over 32,000 words, forward and backward with all gradients, a chunk of
// positions at a time. Of its memory, `logits` is the most that was in use without inputs,
// parameters and gradients. See serve.hpp.

#include "serve.hpp"

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/parallel/chunked.hpp>

#include <cmath>
#include <vector>

using namespace weft;
using namespace benchmark;

namespace {

constexpr index_t C = 512, V = 32000;
using Objective = Chunked<nn::BasicGenerator<C>, nn::LabelSmoothing>;

int run(const Json& settings) {
  const index_t B = settings.at("sentences"), T = settings.at("length");
  Objective loss(nn::BasicGenerator<C>(V), nn::LabelSmoothing(0.1f), settings.at("chunk"));
  nn::ParameterLayout layout;
  nn::place_trained(loss, layout);
  auto values = nn::initial_values(layout, /*seed=*/1, loss);
  for (std::size_t i = 0; i < values.size(); ++i) {  // the same in peers/torch_chunked_loss.py
    values[i] = static_cast<float>((i * 7919 + 13) % 2001) / 20000.0f - 0.05f;
  }

  Cpu device(settings.at("threads"));
  nn::Gradients<Cpu> gradients(device, layout);
  std::vector<float> numbers(static_cast<std::size_t>(B * T * C));
  std::vector<token_t> words(static_cast<std::size_t>(B * T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((i * 7919 + 13) % 2001) / 500.0f - 2.0f;
  }
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<token_t>(37 * i % V);
  const std::vector<index_t> lengths(static_cast<std::size_t>(B), T);
  const Rows<C> x{to_device<float>(device, numbers, {B * T, C}), make_layout<Cpu>(device, lengths)};
  const auto labels = to_device<token_t>(device, words, {B * T});

  const auto once = [&] {
    gradients.begin();
    nn::Context<Cpu> ctx(device, values.data(), gradients, RandomKey());
    return loss.forward(ctx, x, labels);
  };
  index_t logits = 0;
  return serve({{"save", [](const std::string&) { return Json(true); }},
                {"check",
                 [&](const std::string&) {
                   const auto [sum, saved] = once();
                   double squares = 0.0;
                   for (index_t i = 0; i < saved.dx.size(); ++i) {
                     const double d = saved.dx.data()[i];
                     squares += d * d;
                   }
                   return Json{sum.loss.value(), std::sqrt(squares)};
                 }},
                {"repeat",
                 [&](const std::string&) {
                   device.memory().reset_peak();
                   const index_t before = device.memory().statistics().live;
                   index_t dx = 0;
                   const double time_ms =
                       milliseconds([&] { dx = once().saved.dx.size() * index_t{sizeof(float)}; });
                   logits = device.memory().statistics().peak - before - dx;
                   return Json{{"step", time_ms}};
                 }},
                {"memory", [&](const std::string&) {
                   Json answer = memory({});
                   answer["account"]["logits"] = logits;
                   return answer;
                 }}});
}

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(argc, argv,
                           R"({"sentences": 32, "length": 256, "chunk": 5, "threads": 1})", run);
}
