// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>

#include <weft/nn/layer_stack.hpp>
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
using Stack = LayerStack<Layer, 2, 6, false>;

//! A decoder as a function of its memory alone, or, with a memory, of its input alone.
template <bool OfMemory>
struct Half {
  Stack stack;
  Rows<6> other;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.stack);
  }

  template <class D>
  using Saved = Stack::Saved<D>;

  template <class D>
  Result<Rows<6, D>, Saved<D>> forward(Context<D>& ctx, const Rows<6, D>& x) const {
    return OfMemory ? stack.forward(ctx, other, x) : stack.forward(ctx, x, other);
  }

  template <class D>
  Rows<6, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<6, D>& dy) const {
    const LayoutPointer<D> memory_layout = saved.layers[0].cross_attention.memory_layout;
    const auto memory_shape = saved.layers[0].cross_attention.memory.shape();
    MemoryGradient<D> dmemory{ctx.empty(memory_shape)};
    auto dx = stack.backward(ctx, std::move(saved), dy, dmemory);
    if constexpr (OfMemory) return {dmemory.values, memory_layout};
    return dx;
  }
};

}  // namespace

TEST_CASE("with dropout everywhere a decoder's gradients are those of central differences") {
  Cpu device;
  const Stack stack(Layer({.residual = 0.2f, .attention = 0.3f, .activation = 0.4f}));
  const auto x = random_rows<6>(device, {3, 1}, 1), memory = random_rows<6>(device, {2, 4}, 2);
  CHECK(gradient_fault(device, Half<false>{stack, memory}, x) == "");
  CHECK(gradient_fault(device, Half<true>{stack, x}, memory) == "");
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
