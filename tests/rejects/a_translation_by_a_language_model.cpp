// expect: translate takes a strategy that trains an nn::Transformer
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

#include <weft/generate/search_settings.hpp>
#include <weft/nn/language_model.hpp>
#include <weft/train/translate.hpp>

using namespace weft;

constexpr nn::LanguageModelShape shape{.d_model = 8, .heads = 1, .d_ff = 8, .layers = 1};
using Train = DataParallel<nn::LanguageModel<shape>,
                           Chunked<nn::LanguageModelGenerator<shape>, nn::LabelSmoothing>>;

auto run(Train& train) { return train::translate(train, {}, 3, {}); }
