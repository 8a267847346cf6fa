// expect: a stack's layers must write as many channels as they read
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/linear.hpp>

using namespace weft;

auto read(const nn::LayerStack<nn::Linear<8, 16>, 2, 8, true>& stack, nn::Context<Cpu>& ctx,
          const Rows<8>& x) {
  return stack.forward(ctx, x);
}
