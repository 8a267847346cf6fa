// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The models and the batch that benchmarks share with benchmarks/peers.
#pragma once

#include <weft/data/translation_batch.hpp>
#include <weft/nn/transformer.hpp>

namespace benchmark {

namespace data = weft::data;
namespace nn = weft::nn;
using weft::index_t;
using weft::token_t;

struct Sizes {
  index_t sentences, source_length, target_length, vocabulary;
};

//! Token i of a side: the same in benchmarks/peers/torch_translation.py.
inline token_t word(index_t i, index_t side, index_t vocabulary) {
  return static_cast<token_t>(4 + (i * 7919 + side * 104729 + 13) % (vocabulary - 4));
}

inline data::TranslationBatch make_batch(const Sizes& sizes) {
  data::TranslationBatch batch;
  for (index_t b = 0; b < sizes.sentences; ++b) {
    for (index_t t = 0; t < sizes.source_length; ++t) {
      batch.source.tokens.push_back(word(b * sizes.source_length + t, 0, sizes.vocabulary));
    }
    batch.source.end_row();
    for (index_t t = 0; t < sizes.target_length; ++t) {
      const index_t i = b * sizes.target_length + t;
      batch.target_input.tokens.push_back(word(i, 1, sizes.vocabulary));
      batch.target_output.tokens.push_back(word(i + 1, 1, sizes.vocabulary));
    }
    batch.target_input.end_row();
    batch.target_output.end_row();
    batch.sentences.push_back(b);
  }
  return batch;
}

//! The model of 93,255,680 parameters: the default shape, vocabularies of 32,000.
inline constexpr nn::TransformerShape base{};
//! fairseq's transformer_tiny.
inline constexpr nn::TransformerShape tiny{.d_model = 128,
                                           .heads = 4,
                                           .d_ff = 256,
                                           .encoder_layers = 4,
                                           .decoder_layers = 4,
                                           .norm = nn::Norm::post,
                                           .attention_bias = true,
                                           .tie = nn::Tie::all};

}  // namespace benchmark
