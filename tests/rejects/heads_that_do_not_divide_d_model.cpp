// expect: the heads must divide d_model: choose heads such that d_model % heads == 0
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/transformer.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 512, .heads = 7};
const nn::Transformer<shape> model({100, 100});
