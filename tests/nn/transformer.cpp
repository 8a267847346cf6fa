// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/transformer.hpp>

#include <weft/core/chunks.hpp>
#include <weft/nn/decoder.hpp>
#include <weft/nn/gated_feed_forward.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/multi_head_attention.hpp>
#include <weft/nn/rms_norm.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace transformer_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr TransformerShape seed_1{};
static_assert(parameter_count(Transformer<seed_1>({32'000, 32'000}), Generator<seed_1>(32'000)) ==
              93'255'680);

//! fairseq's transformer_tiny for Multi30k: one embedding, layers, and nothing else.
constexpr TransformerShape tiny{.d_model = 128,
                                .heads = 4,
                                .d_ff = 256,
                                .encoder_layers = 4,
                                .decoder_layers = 4,
                                .norm = Norm::post,
                                .attention_bias = true,
                                .tie = Tie::all};
constexpr index_t attention = 4 * (128 * 128 + 128), network = 2 * 128 * 256 + 256 + 128;
static_assert(parameter_count(Transformer<tiny>({10'000, 10'000})) ==
              10'000 * 128 + 4 * (attention + network + 2 * 256) +
                  4 * (2 * attention + network + 3 * 256));

//! With other parts than those of 2017.
constexpr TransformerShape other_parts{.d_model = 12,
                                       .heads = 6,
                                       .key_heads = 3,
                                       .d_ff = 10,
                                       .encoder_layers = 1,
                                       .decoder_layers = 1,
                                       .rms_norm = true,
                                       .norm_epsilon_power = -6,
                                       .activation = ops::Activation::silu,
                                       .gated = true,
                                       .positions = Positions::rotary,
                                       .rotary = {.base = 100},
                                       .scale_embedding = false};
using OtherAround = Sublayer<12, Norm::pre, RmsNorm<12, -6>>;
using OtherNetwork = GatedFeedForward<12, 10, ops::Activation::silu>;
using Turned = MultiHeadAttention<12, 6, false, Rotary{.base = 100}, 3>;
using NotTurned = MultiHeadAttention<12, 6, false, no_rotary, 3>;
static_assert(std::is_same_v<Transformer<other_parts>::EncoderLayerType,
                             SelfAttentionLayer<12, Turned, OtherNetwork, OtherAround>>);
static_assert(
    std::is_same_v<Transformer<other_parts>::DecoderLayerType,
                   CrossAttentionLayer<12, Turned, NotTurned, OtherNetwork, OtherAround>>);
static_assert(std::is_same_v<decltype(Transformer<other_parts>::Decoder::norm), RmsNorm<12, -6>>);
static_assert(!Transformer<other_parts>({9, 9}).source_embedding.scaled &&
              !Transformer<other_parts>({9, 9}).target_embedding.scaled);
static_assert(Transformer<tiny>({9, 9}).source_embedding.scaled);
static_assert(std::is_same_v<Transformer<tiny>::DecoderLayerType,
                             DecoderLayer<128, 4, 256, Norm::post, true>>);

//! What a part of a batch gives: its loss and the gradients, added to those before it.
class Run {
 public:
  Run()
      : objective_(small_objective()),
        values_(initial_values(objective_.layout(), 1, objective_)),
        gradients_(device_, objective_.layout()),
        batch_(random_translations(16, 1)) {}

  [[nodiscard]] parallel::LossSum forward_backward(Range sentences) {
    Context<Cpu> ctx(device_, values_.data(), gradients_, RandomKey(3, 4));
    auto [sum, saved] = objective_.forward(ctx, part(sentences));
    objective_.backward(ctx, std::move(saved));
    return sum;
  }

  [[nodiscard]] parallel::LossSum evaluate(Range sentences) {
    Context<Cpu> ctx(device_, values_.data());
    return objective_.forward(ctx, part(sentences)).output;
  }

  void begin() { gradients_.begin(); }

  [[nodiscard]] std::vector<float> gradients() {
    gradients_.end(objective_.layout());
    return {gradients_.data(), gradients_.data() + objective_.layout().gradients};
  }

 private:
  [[nodiscard]] parallel::MicroBatch<TranslationInput<Cpu>, Cpu> part(Range sentences) {
    return train::DeviceBatch(batch_).part(device_, sentences);
  }

  Cpu device_{2};
  SmallObjective objective_;
  std::vector<float> values_;
  Gradients<Cpu> gradients_;
  data::TranslationBatch batch_;
};

}  // namespace

TEST_CASE("with dropout, sixteen sentences have one loss however they are cut") {
  Run run;
  const auto whole = run.forward_backward({0, 16});
  CHECK(run.evaluate({0, 16}).loss.value() != whole.loss.value());  // dropout is on
  for (const index_t parts : {2, 4, 16}) {
    INFO(parts << " micro-batches");
    parallel::LossSum sum;
    for (index_t i = 0; i < parts; ++i) sum += run.forward_backward(share(16, parts, i));
    CHECK(sum.tokens == whole.tokens);
    // The products of few rows are summed in another order. A token's loss is then off by the
    // roundings of a dozen products, where another mask changes its first digit.
    CHECK(std::abs(sum.loss.value() - whole.loss.value()) <
          16 * unit_roundoff * whole.loss.value());
  }
}

TEST_CASE("the gradients of two micro-batches add up") {
  Run run;
  run.begin();
  static_cast<void>(run.forward_backward({0, 7}));
  const auto first = run.gradients();
  run.begin();
  static_cast<void>(run.forward_backward({7, 16}));
  const auto second = run.gradients();
  run.begin();
  static_cast<void>(run.forward_backward({0, 7}));
  static_cast<void>(run.forward_backward({7, 16}));
  const auto both = run.gradients();

  double distance = 0.0, size = 0.0;
  for (std::size_t i = 0; i < both.size(); ++i) {
    const double sum = double{first[i]} + double{second[i]};
    distance += std::pow(double{both[i]} - sum, 2);
    size += std::pow(sum, 2);
  }
  CHECK(size > 0.0);
  // Each element is a sum over up to 120 rows, whose order is all that differs.
  CHECK(std::sqrt(distance / size) < 120 * unit_roundoff);
}

TEST_CASE("in evaluation nothing is dropped") {
  Cpu device;
  constexpr TransformerShape shape{
      .d_model = 12, .heads = 2, .d_ff = 20, .encoder_layers = 2, .decoder_layers = 1};
  const auto batch = random_translations(5, 2);
  const auto input = train::DeviceBatch(batch).part(device, {0, 5}).input;
  const auto output = [&](const Dropouts& dropouts, bool training) {
    Transformer<shape> model({small_vocabulary, small_vocabulary}, dropouts);
    ParameterLayout layout;
    place_trained(model, layout);
    place_others(model, layout);
    const auto values = initial_values(layout, 1, model);
    Gradients<Cpu> gradients(device, layout);
    Context<Cpu> evaluate(device, values.data());
    Context<Cpu> train(device, values.data(), gradients, RandomKey(1, 1));
    return model.forward(training ? train : evaluate, input).output.values;
  };
  const auto plain = output({}, true);
  CHECK(bit_difference(output(Dropouts::everywhere(0.5f), false), plain) == "");
  CHECK(bit_difference(output(Dropouts::everywhere(0.5f), true), plain) != "");
}

namespace {

//! The most memory that the evaluation of some sentences takes, in bytes.
template <index_t Layers>
index_t peak_of_evaluation() {
  constexpr TransformerShape shape{
      .d_model = 32, .heads = 2, .d_ff = 64, .encoder_layers = Layers, .decoder_layers = Layers};
  Cpu device;
  const parallel::Objective<Transformer<shape>, Chunked<Generator<shape>, LabelSmoothing>>
      objective(Transformer<shape>({small_vocabulary, small_vocabulary}));
  const auto values = initial_values(objective.layout(), 1, objective);
  const auto batch = random_translations(30, 3);
  const auto part = train::DeviceBatch(batch).part(device, {0, 30});
  Context<Cpu> ctx(device, values.data());
  device.memory().reset_peak();
  const index_t before = device.memory().statistics().live;
  static_cast<void>(objective.forward(ctx, part).output);
  return device.memory().statistics().peak - before;
}

}  // namespace

TEST_CASE("evaluation keeps nothing of a layer once the next has read it") {
  CHECK(peak_of_evaluation<5>() == peak_of_evaluation<2>());
}

TEST_CASE("vocabularies that cannot be are refused") {
  CHECK(message_of<ShapeError>([] {
          return Transformer<seed_1>({0, 7}).longest();
        }) == "Transformer: vocabularies of 0 and 7 words, 1024 positions");
  CHECK(message_of<ShapeError>([] {
          return Transformer<tiny>({7, 8}).longest();
        }) == "Transformer: all embeddings are tied, but the vocabularies have 7 and 8 words");
}

}  // namespace transformer_tests
