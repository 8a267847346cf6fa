// expect: a linear layer reads and writes at least one channel
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 0};
nn::Transformer<shape> model({.source_vocabulary = 8, .target_vocabulary = 8, .longest = 4});
