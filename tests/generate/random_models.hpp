// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Small random translation models that have an opinion, to be searched.
#pragma once

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/initialize.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/testing/small_translation.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::testing {

using Words = std::vector<token_t>;

inline constexpr token_t bos = 2, eos = 3;

//! A model, its generator and its values.
template <nn::TransformerShape S, class Generator>
struct RandomModel {
  using Model = nn::Transformer<S>;

  parallel::Objective<Model, Chunked<Generator, nn::LabelSmoothing>> objective;
  std::vector<float> values;

  //! No parameter is left at 0 or 1, the logits' deviation is about 3, and translations end.
  explicit RandomModel(index_t vocabulary, index_t longest = 24, std::uint32_t seed = 1,
                       nn::Dropouts dropouts = {})
      : objective(Model({vocabulary, vocabulary, longest}, dropouts), nn::LabelSmoothing()),
        values(nn::initial_values(objective.layout(), seed, objective)) {
    for (const auto& [name, p] : nn::named_parameters(objective)) {
      if (!p.trained) continue;
      const auto part = std::span(values).subspan(static_cast<std::size_t>(p.value_offset),
                                                  static_cast<std::size_t>(p.size()));
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto bits =
            philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p.slot), seed, 9},
                   RandomKey(3, 3))[0];
        if (p.shape.rank() == 1) {
          part[i] += static_cast<float>(nn::detail::unit(bits)) - 0.5f;
        } else if (p.shape.rows() == vocabulary) {
          part[i] *= 3.0f;
        }
      }
      if (name == "generator.bias") part[eos] += 5.0f;
    }
  }

  [[nodiscard]] const Model& model() const { return objective.model(); }
  [[nodiscard]] const Generator& generator() const { return objective.loss().generator; }
  [[nodiscard]] nn::Context<Cpu> context(Cpu& device) const { return {device, values.data()}; }
};

//! Normalised behind, biases everywhere, sinusoids, tied to a generator that has a bias.
using PostNorm = RandomModel<small_shape, nn::BasicGenerator<small_shape.d_model, true, true>>;

inline constexpr nn::TransformerShape pre_norm_shape{.d_model = 32,
                                                     .heads = 2,
                                                     .d_ff = 48,
                                                     .encoder_layers = 1,
                                                     .decoder_layers = 3,
                                                     .activation = ops::Activation::gelu,
                                                     .positions = nn::Positions::learned};

//! Normalised in front, learned positions, a generator of its own.
using PreNorm = RandomModel<pre_norm_shape, nn::Generator<pre_norm_shape>>;

inline constexpr nn::TransformerShape final_norms_shape{
    .d_model = 32,
    .heads = 2,
    .d_ff = 48,
    .encoder_layers = 2,
    .decoder_layers = 1,
    .norm = nn::Norm::post,
    .final_norms = true,
    .generator_bias = true,
    .activation = ops::Activation::silu,
    .positions = nn::Positions::sinusoidal_halves,
    .tie = nn::Tie::target};

//! Normalised behind and once more at the end, SiLU, sines before cosines, a bias of the logits.
using FinalNorms = RandomModel<final_norms_shape, nn::Generator<final_norms_shape>>;

inline constexpr nn::TransformerShape rotary_shape{.d_model = 32,
                                                   .heads = 4,
                                                   .key_heads = 2,
                                                   .d_ff = 40,
                                                   .encoder_layers = 2,
                                                   .decoder_layers = 2,
                                                   .rms_norm = true,
                                                   .norm_epsilon_power = -6,
                                                   .activation = ops::Activation::silu,
                                                   .gated = true,
                                                   .positions = nn::Positions::rotary,
                                                   .rotary = {.base = 100},
                                                   .scale_embedding = false};

//! Rotary positions, heads that share keys, RMS norms in front, gates.
using WithRotary = RandomModel<rotary_shape, nn::Generator<rotary_shape>>;

inline TokenSequences<Cpu> sequences(Cpu& device, const std::vector<Words>& rows) {
  Words ids;
  std::vector<index_t> lengths;
  for (const auto& row : rows) {
    ids.insert(ids.end(), row.begin(), row.end());
    lengths.push_back(std::ssize(row));
  }
  return {to_device<token_t>(device, ids, {std::ssize(ids)}),
          make_layout(device, std::span<const index_t>(lengths))};
}

//! Sentences of 1, 9, 4, 2, 6, 12 and 3 words of a vocabulary, each with its end.
inline std::vector<Words> random_sources(index_t vocabulary) {
  std::vector<Words> sources;
  for (const std::uint32_t length : {1u, 9u, 4u, 2u, 6u, 12u, 3u}) {
    Words& words = sources.emplace_back();
    for (std::uint32_t t = 0; t < length; ++t) {
      const auto bits = philox({t, length, 0, 0}, RandomKey(5, 5))[0];
      words.push_back(4 + static_cast<token_t>(bits % static_cast<std::uint32_t>(vocabulary - 4)));
    }
    words.push_back(eos);
  }
  return sources;
}

}  // namespace weft::testing
