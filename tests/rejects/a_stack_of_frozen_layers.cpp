// expect: a stack's layers must return the gradient of what they read from backward
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/encoder.hpp>
#include <weft/nn/frozen.hpp>
#include <weft/nn/layer_stack.hpp>

using namespace weft;

using Layer = nn::Frozen<nn::EncoderLayer<32, 4, 64>>;
using Stack = nn::LayerStack<Layer, /*layers=*/2, 32, true>;

auto back(const Stack& stack, nn::Context<Cpu>& ctx, Stack::Saved<Cpu> saved, const Rows<32>& dy) {
  return stack.backward(ctx, std::move(saved), dy);
}
