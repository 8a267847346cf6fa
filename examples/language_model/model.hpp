// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The model that is compiled: change it here, and compile.
#pragma once

#include <weft/nn/criteria.hpp>
#include <weft/nn/dropouts.hpp>
#include <weft/nn/embedding.hpp>
#include <weft/nn/encoder.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/sequential.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/train/model_config.hpp>

#include <cmath>
#include <utility>

namespace language_model {

#ifdef LANGUAGE_MODEL_LARGE
inline constexpr weft::index_t d_model = 4096;
inline constexpr weft::index_t d_ff = 4096;
inline constexpr weft::index_t heads = 16;
inline constexpr int layers = 12;
#else
inline constexpr weft::index_t d_model = 256;
inline constexpr weft::index_t d_ff = 256;
inline constexpr weft::index_t heads = 4;
inline constexpr int layers = 4;
#endif

//! What the generator multiplies each row with, by which stages are balanced: WikiText-2's words.
inline constexpr weft::index_t generator_parameters = d_model * 28'782;

inline constexpr auto weights_at_first = weft::nn::Initializer::uniform(0.1f);

using Embedding = weft::nn::Embedding<d_model>;
using Layer = weft::nn::EncoderLayer<d_model, heads, d_ff, weft::nn::Norm::post, true>;

namespace detail {
template <int>
struct LayerOf {
  using Type = Layer;
};
template <int... i>
weft::nn::Sequential<Embedding, typename LayerOf<i>::Type...> of_layers(
    std::integer_sequence<int, i...>);
}  // namespace detail

#ifdef LANGUAGE_MODEL_LARGE
// With an embedding of WikiText-2's words, and a generator with a bias.
static_assert(layers * weft::nn::parameter_count(Layer()) + 28'782 * (2 * d_model + 1) ==
              1'444'261'998);
#endif

using Layers = decltype(detail::of_layers(std::make_integer_sequence<int, layers>()));

//! Logits with a bias; its weights begin as small as the embedding's.
struct Generator : weft::nn::BasicGenerator<d_model, true> {
  template <class Model>
  explicit Generator(const Model& model) : BasicGenerator(model) {
    weight.initializer = weights_at_first;
  }
};
using Loss = weft::Chunked<Generator, weft::nn::CrossEntropy>;

//! The types of model.hpp. How they are cut into stages does not matter to who loads them.
inline weft::train::ModelConfig config_of_model() {
  return {{"model", "language_model"},
          {"d_model", d_model},
          {"heads", heads},
          {"d_ff", d_ff},
          {"layers", layers}};
}

//! How a model is made, besides its types.
struct ModelOptions {
  weft::index_t vocabulary = 0;
  weft::index_t longest = 0;  //!< words that are read at once
  float dropout = 0.0f;
  bool causal = true;  //!< each word is told from those before it
};

//! A layer that begins as PyTorch's nn.TransformerEncoderLayer does.
inline Layer make_layer(const ModelOptions& o) {
  using weft::nn::Initializer;
  const auto of_linear = [](weft::index_t inputs) {
    return Initializer::uniform(1.0f / std::sqrt(static_cast<float>(inputs)));
  };
  Layer layer(weft::nn::Dropouts::everywhere(o.dropout), o.causal);
  auto& attention = layer.self_attention;
  for (auto* weight : {&attention.query_weight, &attention.key_weight, &attention.value_weight}) {
    weight->initializer = Initializer::xavier_uniform(std::sqrt(0.5f));  // three matrices in one
  }
  attention.output.weight.initializer = of_linear(d_model);
  auto& inner = layer.feed_forward.inner;
  auto& outer = layer.feed_forward.outer;
  inner.weight.initializer = inner.bias.initializer = of_linear(d_model);
  outer.weight.initializer = outer.bias.initializer = of_linear(d_ff);
  return layer;
}

//! The tutorial's model: layers whose norms come last, and none behind them.
inline Layers make_layers(const ModelOptions& o) {
  Embedding embedding(o.vocabulary, o.longest, o.dropout);
  embedding.weight.initializer = weights_at_first;
  const Layer layer = make_layer(o);
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return Layers(embedding, (static_cast<void>(i), layer)...);
  }
  (std::make_integer_sequence<int, layers>());
}

}  // namespace language_model
