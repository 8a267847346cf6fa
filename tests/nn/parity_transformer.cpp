// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/transformer.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace parity_transformer_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr index_t vocabulary = 29;

//! One case of the file: embeddings, nn.TransformerEncoder, nn.TransformerDecoder, a generator and
//! the label-smoothed loss, summed over three sentences, with the logits of `chunk` positions at a
//! time.
template <TransformerShape S>
void check(const std::string& name, index_t longest, index_t chunk) {
  INFO(name << " in chunks of " << chunk);
  using Loss = Chunked<Generator<S>, LabelSmoothing>;
  Cpu device(2);
  const Fixture fixture("nn/data/transformer.safetensors");
  const parallel::Objective<Transformer<S>, Loss> objective(
      Transformer<S>({vocabulary, vocabulary, longest}), LabelSmoothing(0.1f), chunk);
  Parity parity_of(device, fixture, name + "/", objective, objective.layout());
  auto values = initial_values(objective.layout(), 1, objective);  // of the computed tables too
  parity_of.load(values);

  const auto labels = fixture.read<token_t>("labels");
  const parallel::MicroBatch<TranslationInput<Cpu>, Cpu> batch{
      {fixture.tokens(device, "source"), fixture.tokens(device, "target")},
      to_device<token_t>(device, labels, {std::ssize(labels)})};
  Context<Cpu> ctx(device, values.data(), parity_of.begin(), RandomKey());
  const auto output = objective.model().forward(ctx, batch.input).output;
  CHECK(relative_error(output.values, fixture.read(name + "/output")) < parity);

  auto [sum, saved] = objective.forward(ctx, batch);
  const double loss = fixture.read<double>(name + "/loss").at(0);
  CHECK(sum.loss.value() == Approx(loss).epsilon(parity));
  CHECK(sum.tokens == Count<of::Tokens>(std::ssize(labels)));
  objective.backward(ctx, std::move(saved));
  parity_of.check_gradients();
}

template <TransformerShape S>
void check_chunks(const std::string& name, index_t longest) {
  for (const index_t chunk : {1, 3, 5, 100}) check<S>(name, longest, chunk);
}

}  // namespace

TEST_CASE("a Transformer like seed 1's, its loss and all gradients equal PyTorch's") {
  constexpr TransformerShape shape{
      .d_model = 24, .heads = 4, .d_ff = 40, .encoder_layers = 2, .decoder_layers = 2};
  check_chunks<shape>("pre", 16);
}

TEST_CASE("a Transformer like fairseq's tiny one, all embeddings tied, equals PyTorch's") {
  constexpr TransformerShape shape{.d_model = 24,
                                   .heads = 4,
                                   .d_ff = 40,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .norm = Norm::post,
                                   .attention_bias = true,
                                   .tie = Tie::all};
  check_chunks<shape>("post_tied", 16);
}

TEST_CASE("a Transformer with GELU, learned positions and a tied target equals PyTorch's") {
  constexpr TransformerShape shape{.d_model = 24,
                                   .heads = 4,
                                   .d_ff = 40,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .attention_bias = true,
                                   .activation = ops::Activation::gelu,
                                   .positions = Positions::learned,
                                   .tie = Tie::target};
  check_chunks<shape>("pre_gelu_learned", 9);
}

}  // namespace parity_transformer_tests
