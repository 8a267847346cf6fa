// expect: a decoder's read the encoder's output too, decoder.forward(ctx, x, memory)
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>
#include <weft/nn/layer_stack.hpp>

using namespace weft;

using Decoder = nn::LayerStack<nn::DecoderLayer<32, 4, 64>, /*layers=*/2, 32, true>;

auto decode(const Decoder& decoder, nn::Context<Cpu>& ctx, const Rows<32>& x) {
  return decoder.forward(ctx, x);
}
