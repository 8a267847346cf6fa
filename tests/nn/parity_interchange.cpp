// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/transformer.hpp>

#include <weft/io/safetensors_layout.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/train/saved_model.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace parity_interchange_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

//! What tools/convert made of PyTorch's file of that name.
io::SafetensorsFile converted(const std::string& name) {
  return io::SafetensorsFile(WEFT_TESTS "/tools/data/" + name + ".weft.safetensors");
}

//! nn.Transformer as it is by default, but small.
constexpr TransformerShape default_shape{.d_model = 12,
                                         .heads = 2,
                                         .d_ff = 20,
                                         .encoder_layers = 2,
                                         .decoder_layers = 2,
                                         .norm = Norm::post,
                                         .final_norms = true,
                                         .attention_bias = true};

//! The stacks of a Transformer, without what surrounds them.
struct Stacks {
  Transformer<default_shape>::Encoder encoder;
  Transformer<default_shape>::Decoder decoder;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("encoder", self.encoder);
    visit("decoder", self.decoder);
  }
};

}  // namespace

TEST_CASE("a file that tools/convert writes begins with the bytes that weft writes") {
  for (const std::string name : {"nn_transformer", "translator"}) {
    INFO(name);
    const auto file = converted(name);
    const std::vector<io::TensorEntry> entries(file.tensors().begin(), file.tensors().end());
    const io::SafetensorsLayout layout(entries, file.metadata());
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    CHECK(bytes.starts_with(layout.header()));
    REQUIRE(layout.tensors().size() == entries.size());
    for (const auto& entry : entries) {
      CHECK(layout.begin(entry.name) == std::ssize(layout.header()) + entry.begin);
    }
  }
}

TEST_CASE("with the weights of an nn.Transformer, its stacks compute what it does") {
  Cpu device;
  const Fixture run("tools/data/nn_transformer.run.safetensors");
  Stacks stacks;
  const auto layout = place(stacks);
  const auto values = train::read_values(converted("nn_transformer"), stacks, layout);
  Context<Cpu> ctx(device, values.data());
  const auto source = run.rows<12>(device, "source", run.layout(device, "source_lengths"));
  const auto target = run.rows<12>(device, "target", run.layout(device, "target_lengths"));
  const auto memory = stacks.encoder.forward(ctx, source).output;
  const auto output = stacks.decoder.forward(ctx, target, memory).output;
  CHECK(relative_error(output.values, run.read("output")) < parity);
}

TEST_CASE("with the weights of a translator around nn.Transformer, a model has its logits") {
  constexpr TransformerShape shape{.d_model = 12,
                                   .heads = 2,
                                   .d_ff = 20,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .attention_bias = true,
                                   .generator_bias = true,
                                   .activation = ops::Activation::gelu};
  constexpr index_t vocabulary = 17, longest = 9;
  Cpu device;
  const Fixture run("tools/data/translator.run.safetensors");
  const parallel::Objective<Transformer<shape>, Chunked<Generator<shape>, CrossEntropy>> objective(
      Transformer<shape>({vocabulary, vocabulary, longest}), CrossEntropy());
  const auto values = train::read_values(converted("translator"), objective, objective.layout());
  Context<Cpu> ctx(device, values.data());
  const auto output =
      objective.model()
          .forward(ctx, {run.tokens(device, "source"), run.tokens(device, "target")})
          .output;
  const auto& generator = objective.loss().generator;
  const auto logits = generator.logits(ctx, output.values);
  CHECK(relative_error(logits, run.read("logits")) < parity);
}

}  // namespace parity_interchange_tests
