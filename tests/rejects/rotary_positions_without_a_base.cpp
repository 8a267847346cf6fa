// expect: rotary positions turn by a base above 1, mostly 10,000: choose rotary.base
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

using namespace weft;

constexpr nn::LanguageModelShape shape{.positions = nn::Positions::rotary, .rotary = nn::no_rotary};
const nn::LanguageModel<shape> model(100);
