// expect: a norm adds between 1e-20 and 1 to a variance: LayerNorm<C, Centre, -5> adds 1e-5
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

using namespace weft;

constexpr nn::LanguageModelShape shape{.norm_epsilon_power = 5};
const nn::LanguageModel<shape> model(100);
