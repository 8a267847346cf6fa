// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/translation_steps.hpp>

#include <weft/testing/small_translation.hpp>
#include <weft/train/device_batch.hpp>

#include <catch2/catch.hpp>

#include <tuple>
#include <utility>
#include <vector>

#include "../placed.hpp"

namespace translation_steps_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr nn::TransformerShape shape_of(nn::Norm norm, bool final_norms = false) {
  return {.d_model = 24,
          .heads = 3,
          .d_ff = 40,
          .encoder_layers = 2,
          .decoder_layers = 3,
          .norm = norm,
          .final_norms = final_norms,
          .attention_bias = true};
}

//! What a model wrote, and the gradients that it handed over.
struct Pass {
  std::vector<float> output, gradients;

  friend bool operator==(const Pass&, const Pass&) = default;
};

template <class Model, class Whole>
Pass pass_of(Cpu& device, const Model& model, Placed<Whole>& placed) {
  const auto batch = random_translations(7, 1);
  const auto input = train::DeviceBatch(batch).part(device, {0, 7}).input;
  placed.gradients.begin();
  auto ctx = placed.training(device);
  auto [y, saved] = model.forward(ctx, input);
  const Rows<24> dy{random_tensor(device, y.values.shape(), 9), y.layout};
  model.backward(ctx, std::move(saved), dy);
  return {to_host(y.values), placed.total_gradients()};
}

//! Norms, positions and layers that are not the usual ones.
constexpr nn::TransformerShape other_parts = [] {
  auto shape = shape_of(nn::Norm::pre);
  shape.heads = 6;
  shape.key_heads = 2;
  shape.rms_norm = true;
  shape.gated = true;
  shape.positions = nn::Positions::rotary;
  shape.scale_embedding = false;
  return shape;
}();

template <nn::TransformerShape shape>
void expect_the_models_own_pass() {
  Cpu device;
  using Model = nn::Transformer<shape>;
  Placed<Model> placed(
      device, Model({small_vocabulary, small_vocabulary, 24}, nn::Dropouts::everywhere(0.2f)));
  // Made of modules that have their places, the steps read and write the model's own.
  const auto steps = nn::steps_of(placed.module);
  const Pass expected = pass_of(device, placed.module, placed);
  CHECK(expected.output.size() > 500);
  CHECK(pass_of(device, steps, placed) == expected);
}

}  // namespace

TEST_CASE("a Transformer in steps computes what the Transformer does, to the bit") {
  expect_the_models_own_pass<shape_of(nn::Norm::pre)>();
  expect_the_models_own_pass<shape_of(nn::Norm::post)>();
  expect_the_models_own_pass<shape_of(nn::Norm::post, true)>();
  expect_the_models_own_pass<other_parts>();
}

TEST_CASE("steps count their readers down") {
  using Model = nn::Transformer<shape_of(nn::Norm::pre)>;
  using Steps = decltype(nn::steps_of(std::declval<Model>()));
  using Layer = Model::DecoderLayerType;
  STATIC_REQUIRE(std::tuple_size_v<decltype(Steps::modules)> == 8);
  STATIC_REQUIRE(nn::readers_left<nn::InputOf<nn::DecoderStep<24, Layer, 3>>> == 3);
  STATIC_REQUIRE(nn::readers_left<nn::OutputOf<nn::DecoderStep<24, Layer, 3>>> == 2);
  STATIC_REQUIRE(nn::readers_agree<nn::DecoderStep<24, Layer, 3>, nn::DecoderStep<24, Layer, 2>>);
  STATIC_REQUIRE(!nn::readers_agree<nn::DecoderStep<24, Layer, 1>, nn::DecoderStep<24, Layer, 1>>);
  STATIC_REQUIRE(!nn::readers_agree<nn::DecoderStep<24, Layer, 2>, nn::EndDecoder<24, true>>);
}

}  // namespace translation_steps_tests
