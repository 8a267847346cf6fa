// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>

#include <weft/nn/gated_feed_forward.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/rms_norm.hpp>
#include <weft/testing/difference.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <utility>

namespace decoder_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

using Layer = DecoderLayer<6, 2, 5, Norm::post, true, ops::Activation::gelu>;

//! Two such layers, as a function of their memory alone, or, with a memory, of their input alone.
template <bool OfMemory, class Layer, index_t C>
struct Half {
  using Stack = LayerStack<Layer, 2, C, false>;
  Stack stack;
  Rows<C> other;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.stack);
  }

  template <class D>
  using Saved = typename Stack::template Saved<D>;

  template <class D>
  Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    return OfMemory ? stack.forward(ctx, other, x) : stack.forward(ctx, x, other);
  }

  template <class D>
  Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    const LayoutPointer<D> memory_layout = saved.layers[0].cross_attention.memory_layout;
    const auto memory_shape = saved.layers[0].cross_attention.memory.shape();
    MemoryGradient<D> dmemory{ctx.empty(memory_shape)};
    auto dx = stack.backward(ctx, std::move(saved), dy, dmemory);
    if constexpr (OfMemory) return {dmemory.values, memory_layout};
    return dx;
  }
};

template <index_t C, class Layer>
void check_gradients() {
  Cpu device;
  const LayerStack<Layer, 2, C, false> stack(
      Layer({.residual = 0.2f, .attention = 0.3f, .activation = 0.4f}));
  const auto x = random_rows<C>(device, {3, 1}, 1), memory = random_rows<C>(device, {2, 4}, 2);
  CHECK(gradient_fault(device, Half<false, Layer, C>{stack, memory}, x) == "");
  CHECK(gradient_fault(device, Half<true, Layer, C>{stack, x}, memory) == "");
}

}  // namespace

TEST_CASE("with dropout everywhere a decoder's gradients are those of central differences") {
  check_gradients<6, Layer>();
}

TEST_CASE("the gradients of a decoder of other branches and norms are, too") {
  // In both attentions heads share keys; in the first they are turned by their positions.
  check_gradients<
      8, CrossAttentionLayer<8, MultiHeadAttention<8, 4, false, Rotary{100}, 2>,
                             MultiHeadAttention<8, 4, false, no_rotary, 2>, GatedFeedForward<8, 5>,
                             Sublayer<8, Norm::pre, RmsNorm<8>>>>();
}

TEST_CASE("a decoder that has more sequences than its memory refuses them") {
  Cpu device;
  const Placed placed(device, Layer(Dropouts{}));
  auto ctx = placed.evaluation(device);
  const auto x = random_rows<6>(device, {3, 1}, 1), memory = random_rows<6>(device, {2}, 2);
  CHECK(message_of<ShapeError>([&] {
          return placed.module.forward(ctx, x, memory).output.values.rows();
        }) == "attention: 2 sequences of queries and 1 of keys");
}

}  // namespace decoder_tests
