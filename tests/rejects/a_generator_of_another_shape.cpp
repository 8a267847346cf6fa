// expect: the loss does not read what the model writes: its generator must have the model's d_model
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;
using Loss = Chunked<nn::Generator<shape>, nn::LabelSmoothing>;

constexpr nn::TransformerShape wider{.d_model = 64, .heads = 4, .d_ff = 64};
using Train = DataParallel<nn::Transformer<wider>, Loss>;

int devices(const Train& strategy) { return strategy.devices(); }
