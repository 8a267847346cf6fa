// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/decoder.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace parity_decoder_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

constexpr index_t C = 24, H = 4, F = 40;

//! One case of the file: nn.TransformerDecoderLayer on three pairs of sequences.
template <Norm Place, bool Bias, ops::Activation A>
void check(const std::string& name) {
  INFO(name);
  Cpu device(2);
  const Fixture fixture("nn/data/decoder_layer.safetensors");
  DecoderLayer<C, H, F, Place, Bias, A> layer{Dropouts{}};
  const auto places = place(layer);
  Parity parity_of(device, fixture, name + "/", layer, places);
  std::vector<float> values(static_cast<std::size_t>(places.values));
  parity_of.load(values);

  const auto layout = fixture.layout(device, "lengths");
  const auto memory = fixture.rows<C>(device, "memory", fixture.layout(device, "memory_lengths"));
  Context<Cpu> ctx(device, values.data(), parity_of.begin(), RandomKey());
  auto [y, saved] = layer.forward(ctx, fixture.rows<C>(device, "x", layout), memory);
  MemoryGradient<Cpu> dmemory{ctx.empty(memory.values.shape())};
  const auto dx =
      layer.backward(ctx, std::move(saved), fixture.rows<C>(device, "dy", layout), dmemory);

  CHECK(relative_error(y.values, fixture.read(name + "/y")) < parity);
  CHECK(relative_error(dx.values, fixture.read(name + "/dx")) < parity);
  CHECK(relative_error(dmemory.values, fixture.read(name + "/dmemory")) < parity);
  parity_of.check_gradients();
}

}  // namespace

TEST_CASE("a decoder layer and its gradients, the memory's too, equal PyTorch's") {
  using enum ops::Activation;
  check<Norm::pre, false, relu>("pre_relu");
  check<Norm::post, true, relu>("post_relu_bias");
  check<Norm::pre, true, gelu>("pre_gelu_bias");
  check<Norm::post, false, gelu>("post_gelu");
}

}  // namespace parity_decoder_tests
