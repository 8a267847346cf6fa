// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/encoder.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace parity_encoder_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr index_t C = 24, H = 4, F = 40;

//! One case of a file: nn.TransformerEncoderLayer on three sequences of different lengths.
template <Norm Place, bool Bias, ops::Activation A>
void check(const std::string& batch, const std::string& name, bool causal,
           const std::string& file = "encoder_layer") {
  INFO(batch << ", " << name);
  Cpu device(2);
  const Fixture fixture("nn/data/" + file + ".safetensors");
  EncoderLayer<C, H, F, Place, Bias, A> layer({}, causal);
  const auto places = place(layer);
  Parity parity_of(device, fixture, batch + "/" + name + "/", layer, places);
  std::vector<float> values(static_cast<std::size_t>(places.values));
  parity_of.load(values);

  const auto layout = fixture.layout(device, batch + "/lengths");
  Context<Cpu> ctx(device, values.data(), parity_of.begin(), RandomKey());
  auto [y, saved] = layer.forward(ctx, fixture.rows<C>(device, batch + "/x", layout));
  const auto dx =
      layer.backward(ctx, std::move(saved), fixture.rows<C>(device, batch + "/dy", layout));

  CHECK(relative_error(y.values, fixture.read(batch + "/" + name + "/y")) < parity);
  CHECK(relative_error(dx.values, fixture.read(batch + "/" + name + "/dx")) < parity);
  parity_of.check_gradients();
}

}  // namespace

TEST_CASE("an encoder layer and its gradients equal PyTorch's") {
  using enum ops::Activation;
  check<Norm::pre, false, relu>("short", "pre_relu", false);
  check<Norm::pre, false, relu>("short", "pre_relu_causal", true);
  check<Norm::post, true, relu>("short", "post_relu_bias", false);
  check<Norm::pre, true, gelu>("short", "pre_gelu_bias_causal", true);
  check<Norm::post, false, gelu>("short", "post_gelu", false);
  check<Norm::post, true, silu>("short", "post_silu_bias", false, "silu_layer");
}

TEST_CASE("an encoder layer equals PyTorch's where attention takes several tiles") {
  check<Norm::pre, false, ops::Activation::relu>("long", "pre_relu_causal", true);
}

}  // namespace parity_encoder_tests
