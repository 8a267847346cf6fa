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

#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
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

//! Llama's kind, small: groups of heads, RMS norms, gates, rotary positions.
constexpr LanguageModelShape llama{.d_model = 12,
                                   .heads = 6,
                                   .key_heads = 2,
                                   .d_ff = 10,
                                   .layers = 2,
                                   .rms_norm = true,
                                   .activation = ops::Activation::silu,
                                   .gated = true,
                                   .positions = Positions::rotary,
                                   .scale_embedding = false};
//! Llama 2 with 7 billion parameters, as its publishers count them.
constexpr LanguageModelShape llama_7b{.d_model = 4096,
                                      .heads = 32,
                                      .d_ff = 11'008,
                                      .layers = 32,
                                      .rms_norm = true,
                                      .activation = ops::Activation::silu,
                                      .gated = true,
                                      .positions = Positions::rotary,
                                      .scale_embedding = false};
static_assert(parameter_count(LanguageModel<llama_7b>(32'000),
                              LanguageModelGenerator<llama_7b>(32'000)) == 6'738'415'616);

template <LanguageModelShape S>
using ChunkedLoss = Chunked<LanguageModelGenerator<S>, LabelSmoothing>;

TokenSequences<Cpu> sequences(Cpu& device, const std::vector<token_t>& ids,
                              const std::vector<index_t>& lengths) {
  return {to_device<token_t>(device, ids, {std::ssize(ids)}),
          make_layout(device, std::span<const index_t>(lengths))};
}

template <LanguageModelShape S>
void check_sees_the_past() {
  Cpu device;
  const Placed placed(device, LanguageModel<S>(9, 6));
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

template <LanguageModelShape S>
void check_gradients() {
  Cpu device;
  parallel::Objective<LanguageModel<S>, ChunkedLoss<S>> objective(
      LanguageModel<S>(9, 6, Dropouts::everywhere(0.2f)), LabelSmoothing(0.1f), 2);
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

}  // namespace

TEST_CASE("a language model sees the past and not the future") {
  check_sees_the_past<small>();
  check_sees_the_past<llama>();
}

TEST_CASE("a language model's gradients are those of central differences") {
  check_gradients<small>();
  check_gradients<llama>();
}

TEST_CASE("with rotary positions the last word knows the order of those before it") {
  const auto difference = []<Positions P>(std::integral_constant<Positions, P>) {
    constexpr LanguageModelShape one_layer{
        .d_model = 12, .heads = 6, .key_heads = 2, .d_ff = 10, .layers = 1, .positions = P};
    Cpu device;
    const Placed placed(device, LanguageModel<one_layer>(9, 6));
    auto ctx = placed.evaluation(device);
    const auto last = [&](const std::vector<token_t>& ids) {
      const auto y = placed.module.forward(ctx, sequences(device, ids, {std::ssize(ids)})).output;
      return to_host(y.values.slice(std::ssize(ids) - 1, std::ssize(ids)));
    };
    const auto here = last({1, 2, 3}), turned = last({2, 1, 3});
    float sum = 0.0f;
    for (std::size_t i = 0; i < here.size(); ++i) sum += std::abs(here[i] - turned[i]);
    CHECK(std::isfinite(last({1, 2, 3, 4, 5, 6, 7, 8})[0]));  // no table that ends
    return sum;
  };
  CHECK(difference(std::integral_constant<Positions, Positions::none>()) < 1e-5f);
  CHECK(difference(std::integral_constant<Positions, Positions::rotary>()) > 1e-2f);
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
