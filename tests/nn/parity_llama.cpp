// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/train/saved_model.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace parity_llama_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr index_t C = 24;

constexpr LanguageModelShape shape_of(index_t key_heads, Rotary rotary = {}) {
  return {.d_model = C,
          .heads = 4,
          .key_heads = key_heads,
          .d_ff = 40,
          .layers = 2,
          .rms_norm = true,
          .activation = ops::Activation::silu,
          .gated = true,
          .positions = Positions::rotary,
          .rotary = rotary,
          .scale_embedding = false};
}

//! One case of tests/reference/llama.py: the layers of transformers' LlamaModel.
template <index_t KeyHeads, Rotary R = Rotary{}>
void check(const std::string& batch, const std::string& name) {
  using Model = LanguageModel<shape_of(KeyHeads, R)>;
  check_rows<C>(Fixture("nn/data/llama.safetensors"), batch, name,
                typename Model::Encoder(typename Model::Layer({}, true)));
}

}  // namespace

TEST_CASE("the layers of a Llama and their gradients equal Hugging Face's") {
  check<2>("short", "grouped");
  check<4>("short", "plain");
}

TEST_CASE("the layers of a Llama equal Hugging Face's where attention takes several tiles") {
  check<2>("long", "grouped");
  // Its pairs turn 81, 3.8 and 0.2 times in 512 positions: as fast, a little slower, slower by 8.
  check<1, Rotary{.factor = 8, .first_length = 512}>("long", "slowed");
}

TEST_CASE("layers with biases before attention and another epsilon equal Hugging Face's Qwen2") {
  constexpr LanguageModelShape shape = [] {
    auto qwen2 = shape_of(2);
    qwen2.norm_epsilon_power = -2;
    qwen2.attention_bias = true;
    return qwen2;
  }();
  using Model = LanguageModel<shape>;
  typename Model::Layer layer({}, true);
  layer.self_attention.output.bias.trained = false;  // and 0: there is none
  check_rows<C>(Fixture("nn/data/qwen2.safetensors"), "short", "grouped",
                typename Model::Encoder(layer));
}

TEST_CASE("with the weights of a Llama of Hugging Face's, a language model has its logits") {
  constexpr LanguageModelShape shape = shape_of(2, {.base = 500'000});
  Cpu device;
  const Fixture run("tools/data/llama.run.safetensors");
  const parallel::Objective<LanguageModel<shape>,
                            Chunked<LanguageModelGenerator<shape>, CrossEntropy>>
      objective(LanguageModel<shape>(29), CrossEntropy());
  // What tools/convert made of the folder.
  const io::SafetensorsFile converted(WEFT_TESTS "/tools/data/llama.weft.safetensors");
  const auto values = train::read_values(converted, objective, objective.layout());
  Context<Cpu> ctx(device, values.data());
  const auto output = objective.model().forward(ctx, run.tokens(device, "tokens")).output;
  const auto logits = objective.loss().generator.logits(ctx, output.values);
  CHECK(relative_error(logits, run.read("logits")) < parity);
}

}  // namespace parity_llama_tests
