// expect: the second argument of Chunked is a criterion, such as nn::LabelSmoothing or
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::Dropouts>;

constexpr index_t channels = Loss::channels;
