// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/module.hpp>

#include <weft/nn/decoder.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/transformer.hpp>
#include <weft/testing/difference.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

namespace module_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

//! y = weight x, all that an author writes for a module.
template <index_t C>
struct Scale {
  Parameter weight{.shape = {1}, .initializer = Initializer::constant(3.0f)};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("weight", self.weight);
  }

  template <class D>
  struct Saved {
    Tensor<float, D> x;
  };

  template <class D>
  Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    return {scaled(ctx, x), {x.values}};
  }

  template <class D>
  Rows<C, D> backward(Context<D>& ctx, Saved<D>&& saved, const Rows<C, D>& dy) const {
    ctx.gradient(weight, [x = saved.x, dy = dy.values](View<float> dw, ops::Write write) {
      float sum = 0.0f;
      for (index_t i = 0; i < x.size(); ++i) sum += x.data()[i] * dy.data()[i];
      dw.data[0] = write == ops::Write::accumulate ? dw.data[0] + sum : sum;
    });
    return scaled(ctx, dy);
  }

 private:
  template <class D>
  Rows<C, D> scaled(Context<D>& ctx, const Rows<C, D>& x) const {
    Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
    for (index_t i = 0; i < y.values.size(); ++i) {
      y.values.data()[i] = ctx.value(weight).data[0] * x.values.data()[i];
    }
    return y;
  }
};

//! Without the list of its members a type is no module.
struct Unlisted {
  Parameter weight;
};

static_assert(Module<Scale<4>> && UnaryModule<Scale<4>>);
static_assert(!Module<Unlisted> && !Module<int>);
static_assert(std::same_as<InputOf<Linear<3, 5>>, Rows<3>>);
static_assert(std::same_as<OutputOf<Linear<3, 5>>, Rows<5>>);
static_assert(std::same_as<InputGradientOf<Linear<3, 5>>, Rows<3>>);
static_assert(std::same_as<InputOf<Embedding<3>>, TokenSequences<Cpu>>);
static_assert(std::is_void_v<InputGradientOf<Embedding<3>>>);
// The values taken by value, and what else its layers may read, do not hide what a stack reads.
static_assert(std::same_as<InputOf<LayerStack<Scale<3>, 2, 3, false>>, Rows<3>>);
// Two inputs, or a choice of forwards: a module, but nothing that goes into a chain.
static_assert(Module<DecoderLayer<4, 2, 3>> && !UnaryModule<DecoderLayer<4, 2, 3>>);
static_assert(Module<MultiHeadAttention<4, 2>> && !UnaryModule<MultiHeadAttention<4, 2>>);

}  // namespace

TEST_CASE("a module of one's own works inside others") {
  Cpu device;
  const LayerStack<Scale<4>, 2, 4, true> model(Scale<4>{});
  CHECK(parameter_count(model) == 2 + 2 * 4);
  CHECK(gradient_fault(device, model, random_rows<4>(device, {3, 1}, 1)) == "");
}

}  // namespace module_tests
