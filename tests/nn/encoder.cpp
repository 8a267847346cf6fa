// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/encoder.hpp>

#include <weft/nn/gated_feed_forward.hpp>
#include <weft/nn/layer_stack.hpp>
#include <weft/nn/rms_norm.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

namespace encoder_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr Dropouts dropouts{.residual = 0.2f, .attention = 0.3f, .activation = 0.4f};

template <Norm Place, bool Bias, ops::Activation A>
void check(bool causal) {
  Cpu device;
  const EncoderLayer<6, 2, 5, Place, Bias, A> layer(dropouts, causal);
  CHECK(gradient_fault(device, layer, random_rows<6>(device, {4, 1, 3}, 1)) == "");
}

}  // namespace

TEST_CASE("with dropout everywhere an encoder layer's gradients are those of central differences") {
  using enum ops::Activation;
  check<Norm::pre, false, gelu>(false);
  check<Norm::post, true, gelu>(true);
  check<Norm::pre, true, relu>(true);
  check<Norm::post, true, silu>(false);
}

TEST_CASE("a stack's gradients are those of central differences") {
  Cpu device;
  using Layer = EncoderLayer<6, 2, 5, Norm::pre, false, ops::Activation::gelu>;
  const LayerStack<Layer, 2, 6, true> stack(Layer{dropouts});
  CHECK(gradient_fault(device, stack, random_rows<6>(device, {3, 2}, 2)) == "");
}

TEST_CASE("the gradients of layers of other branches and norms are those of central differences") {
  Cpu device;
  using Around = Sublayer<8, Norm::pre, RmsNorm<8>>;
  const auto x = random_rows<8>(device, {4, 1, 3}, 1);
  // Four heads of queries share two of keys, and are turned by their positions.
  using Llama = SelfAttentionLayer<8, MultiHeadAttention<8, 4, false, Rotary{100}, 2>,
                                   GatedFeedForward<8, 5>, Around>;
  CHECK(gradient_fault(device, Llama(dropouts, true), x) == "");
  // With biases, the norms behind the sums, and all heads sharing one.
  using Post = SelfAttentionLayer<8, MultiHeadAttention<8, 2, true, Rotary{10}, 1>,
                                  GatedFeedForward<8, 5, ops::Activation::gelu>,
                                  Sublayer<8, Norm::post, RmsNorm<8>>>;
  CHECK(gradient_fault(device, Post(dropouts), x) == "");
  using Mixed = SelfAttentionLayer<8, MultiHeadAttention<8, 2>,
                                   FeedForward<8, 5, ops::Activation::gelu>, Around>;
  CHECK(gradient_fault(device, Mixed(dropouts), x) == "");
}

}  // namespace encoder_tests
