// expect: the heads of keys must divide those of queries: choose them such that
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/language_model.hpp>

using namespace weft;

constexpr nn::LanguageModelShape shape{.d_model = 512, .heads = 8, .key_heads = 3};
const nn::LanguageModel<shape> model(100);
