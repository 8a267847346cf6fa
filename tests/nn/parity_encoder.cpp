// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/encoder.hpp>

#include "../parity.hpp"

#include <catch2/catch.hpp>

#include <string>

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
  check_rows<C>(Fixture("nn/data/" + file + ".safetensors"), batch, name,
                EncoderLayer<C, H, F, Place, Bias, A>({}, causal));
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
