// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A translation model and batches that are small enough for tests of strategies.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>
#include <weft/data/translation_batch.hpp>
#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>
#include <weft/parallel/objective.hpp>

namespace weft::testing {

//! Widths that are no multiples of 16, every kind of parameter, and tied weights.
inline constexpr nn::TransformerShape small_shape{.d_model = 24,
                                                  .heads = 3,
                                                  .d_ff = 40,
                                                  .encoder_layers = 2,
                                                  .decoder_layers = 2,
                                                  .norm = nn::Norm::post,
                                                  .attention_bias = true,
                                                  .tie = nn::Tie::all};
//! Words of both languages.
inline constexpr index_t small_vocabulary = 37;

//! A model of the small shape.
using SmallModel = nn::Transformer<small_shape>;
//! The chunked loss of the small model.
using SmallLoss = Chunked<nn::Generator<small_shape>, nn::LabelSmoothing>;
//! Both, with their places in the buffers.
using SmallObjective = parallel::Objective<SmallModel, SmallLoss>;

//! With dropout everywhere, and a chunk of so many positions.
inline SmallObjective small_objective(index_t chunk = 5) {
  return SmallObjective(SmallModel({small_vocabulary, small_vocabulary, 24},
                                   {.residual = 0.2f, .attention = 0.1f, .activation = 0.15f}),
                        nn::LabelSmoothing(0.1f), chunk);
}

//! Sentences of 1 to 11 random words and their "translations". No two numbers give one batch.
inline data::TranslationBatch random_translations(index_t sentences, std::uint32_t number) {
  constexpr token_t bos = 2, eos = 3, first_word = 4;
  data::TranslationBatch batch;
  for (index_t sentence = 0; sentence < sentences; ++sentence) {
    auto random = [&, counter = std::uint32_t{0}](std::uint32_t below) mutable {
      const auto row = static_cast<std::uint32_t>(sentence);
      return philox({counter++, row, number, 0}, RandomKey(7, 7))[0] % below;
    };
    const auto words = [&] {
      std::vector<token_t> list(1 + random(11));
      for (token_t& word : list) {
        word = first_word + static_cast<token_t>(random(small_vocabulary - first_word));
      }
      return list;
    };
    const auto source = words(), target = words();
    batch.source.append(source);
    batch.source.tokens.push_back(eos);
    batch.source.end_row();
    batch.target_input.tokens.push_back(bos);
    batch.target_input.append(target);
    batch.target_input.end_row();
    batch.target_output.append(target);
    batch.target_output.tokens.push_back(eos);
    batch.target_output.end_row();
    batch.sentences.push_back(sentence);
  }
  return batch;
}

}  // namespace weft::testing
