// expect: choose heads such that d_model / heads is
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

using namespace weft;

constexpr nn::LanguageModelShape shape{
    .d_model = 60, .heads = 4, .positions = nn::Positions::rotary};
const nn::LanguageModel<shape> model(100);
