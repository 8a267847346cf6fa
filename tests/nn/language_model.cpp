// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

#include <weft/nn/criteria.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/testing/difference.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <span>
#include <utility>
#include <vector>

namespace language_model_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

//! Seed 2's model: twelve layers as PyTorch's nn.TransformerEncoderLayer makes them by default.
constexpr LanguageModelShape seed_2{.d_model = 4096,
                                    .heads = 16,
                                    .d_ff = 4096,
                                    .layers = 12,
                                    .norm = Norm::post,
                                    .attention_bias = true,
                                    .generator_bias = true};
constexpr index_t words = 28'782;
static_assert(parameter_count(LanguageModel<seed_2>(words),
                              LanguageModelGenerator<seed_2>(words)) == 1'444'261'998);

constexpr LanguageModelShape small{.d_model = 12,
                                   .heads = 3,
                                   .d_ff = 10,
                                   .layers = 2,
                                   .generator_bias = true,
                                   .activation = ops::Activation::gelu,
                                   .positions = Positions::learned,
                                   .tie = true};
using Model = LanguageModel<small>;
using ChunkedLoss = Chunked<LanguageModelGenerator<small>, LabelSmoothing>;

TokenSequences<Cpu> sequences(Cpu& device, const std::vector<token_t>& ids,
                              const std::vector<index_t>& lengths) {
  return {to_device<token_t>(device, ids, {std::ssize(ids)}),
          make_layout(device, std::span<const index_t>(lengths))};
}

}  // namespace

TEST_CASE("a language model sees the past and not the future") {
  Cpu device;
  const Placed placed(device, Model(9, 6));
  auto ctx = placed.evaluation(device);
  const auto output = [&](const std::vector<token_t>& ids) {
    return placed.module.forward(ctx, sequences(device, ids, {2, 5})).output.values;
  };
  const auto y = output({1, 2, 3, 4, 5, 6, 7});
  const auto changed = output({1, 2, 3, 4, 8, 6, 7});  // position 2 of the second sequence
  CHECK(bit_difference(y.slice(0, 4), changed.slice(0, 4)) == "");
  for (index_t row = 4; row < 7; ++row) {
    CHECK(bit_difference(y.slice(row, row + 1), changed.slice(row, row + 1)) != "");
  }
}

TEST_CASE("a language model's gradients are those of central differences") {
  Cpu device;
  parallel::Objective<Model, ChunkedLoss> objective(Model(9, 6, Dropouts::everywhere(0.2f)),
                                                    LabelSmoothing(0.1f), 2);
  const ParameterLayout& layout = objective.layout();
  auto values = initial_values(layout, 1, objective);
  Gradients<Cpu> gradients(device, layout);
  const std::vector<token_t> labels{3, 4, 0, 1, 5, 8, 8};
  const parallel::MicroBatch<TokenSequences<Cpu>, Cpu> batch{
      sequences(device, {1, 2, 3, 4, 5, 6, 7}, {2, 5}), to_device<token_t>(device, labels, {7})};
  const auto forward = [&] {
    gradients.begin();
    Context<Cpu> ctx(device, values.data(), gradients, RandomKey(1, 2));
    auto [sum, saved] = objective.forward(ctx, batch);
    return std::pair(sum.loss.value(), std::move(saved));
  };
  auto [loss, saved] = forward();
  Context<Cpu> ctx(device, values.data(), gradients, RandomKey(1, 2));
  objective.backward(ctx, std::move(saved));
  gradients.end(layout);
  for (const auto& tied : layout.tied) {
    for (index_t i = 0; i < tied.size; ++i) {
      gradients.data()[tied.to + i] += gradients.data()[tied.from + i];
    }
  }
  const std::vector<float> found(gradients.data(), gradients.data() + layout.trained);

  // Seven losses of size 2 to 4, each of some thirty roundings.
  const double noise = 7 * 4 * 30 * unit_roundoff;
  CHECK(gradient_difference(
            std::span(values).first(found.size()), found, [&] { return forward().first; }, noise) ==
        "");
}

TEST_CASE("a language model without words or positions is refused") {
  CHECK(message_of<ShapeError>([] { return Model(0, 6).longest(); }) ==
        "LanguageModel: a vocabulary of 0 words, 6 positions");
  CHECK(message_of<ShapeError>([] { return Model(9, 0).longest(); }) ==
        "LanguageModel: a vocabulary of 9 words, 0 positions");
}

TEST_CASE("a sequence longer than the positions is refused") {
  Cpu device;
  const Placed placed(device, Model(9, 3));
  auto ctx = placed.evaluation(device);
  const auto tokens = sequences(device, {1, 2, 3, 4}, {4});
  CHECK(message_of<ShapeError>([&] {
          return placed.module.forward(ctx, tokens).output.values.rows();
        }) == "embedding: a sequence of 4 tokens is longer than the 3 positions");
}

}  // namespace language_model_tests
