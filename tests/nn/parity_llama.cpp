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
#include <utility>
#include <vector>

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
  INFO(batch << ", " << name);
  Cpu device(2);
  const Fixture fixture("nn/data/llama.safetensors");
  using Model = LanguageModel<shape_of(KeyHeads, R)>;
  typename Model::Encoder layers(typename Model::Layer({}, true));
  const auto places = place(layers);
  Parity parity_of(device, fixture, batch + "/" + name + "/", layers, places);
  std::vector<float> values = initial_values(places, 1, layers);
  parity_of.load(values);

  const auto layout = fixture.layout(device, batch + "/lengths");
  Context<Cpu> ctx(device, values.data(), parity_of.begin(), RandomKey());
  auto [y, saved] = layers.forward(ctx, fixture.rows<C>(device, batch + "/x", layout));
  const auto dx =
      layers.backward(ctx, std::move(saved), fixture.rows<C>(device, batch + "/dy", layout));

  CHECK(relative_error(y.values, fixture.read(batch + "/" + name + "/y")) < parity);
  CHECK(relative_error(dx.values, fixture.read(batch + "/" + name + "/dx")) < parity);
  parity_of.check_gradients();
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
