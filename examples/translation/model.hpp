// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The model that is compiled: change it here, and compile.
#pragma once

#include <weft/nn/criteria.hpp>
#include <weft/nn/generator.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/parallel/chunked.hpp>

#include <string>

namespace translation {

//! fairseq's transformer_tiny: one vocabulary for both languages, and all embeddings shared.
inline constexpr weft::nn::TransformerShape shape{.d_model = 128,
                                                  .heads = 4,
                                                  .d_ff = 256,
                                                  .encoder_layers = 4,
                                                  .decoder_layers = 4,
                                                  .norm = weft::nn::Norm::post,
                                                  .attention_bias = true,
                                                  .tie = weft::nn::Tie::all};

using Model = weft::nn::Transformer<shape>;
using Loss = weft::Chunked<weft::nn::Generator<shape>, weft::nn::LabelSmoothing>;

}  // namespace translation
