// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A small trainer whose parts lie in two source files.
#pragma once

#include <weft/weft.hpp>

#include <cstdint>

inline constexpr weft::nn::TransformerShape shape{
    .d_model = 32, .heads = 4, .d_ff = 64, .encoder_layers = 1, .decoder_layers = 1};
using Model = weft::nn::Transformer<shape>;
using Loss = weft::Chunked<weft::nn::Generator<shape>, weft::nn::LabelSmoothing>;
using Train = weft::DataParallel<Model, Loss>;

//! Sentences of a few words, and the same words as their translations.
weft::data::TranslationBatch copied_sentences(std::uint32_t update);
