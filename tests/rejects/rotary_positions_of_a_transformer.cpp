// expect: a Transformer has no rotary positions: they are a LanguageModel's
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/transformer.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.positions = nn::Positions::rotary};
const nn::Transformer<shape> model({100, 100});
