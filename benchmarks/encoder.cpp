// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Forward, backward and Adam's step of encoder layers, each timed by itself: the layer of "your
// training is not fast enough yet" (`small`: hidden 128, 16 heads, 512 inside), and the base
// Transformer's (`base`: 512, 8, 2048), causal or not, 1 to 24 of them. See training.hpp.

#include "training.hpp"

#include <weft/nn/encoder.hpp>
#include <weft/nn/layer_stack.hpp>

#include <stdexcept>

using namespace benchmark;
namespace nn = weft::nn;

namespace {

template <index_t C, index_t H, index_t F, index_t Layers>
int run(const Json& settings) {
  using Layer = nn::EncoderLayer<C, H, F, nn::Norm::pre, true>;
  using Stack = nn::LayerStack<Layer, Layers, C, false>;
  LoneModule<Stack, C> module(settings, [&](float dropout) {
    return Stack(Layer(nn::Dropouts::everywhere(dropout), settings.at("causal")));
  });
  return serve(module.commands());
}

template <index_t Layers>
int run_base(const Json& settings) {
  return run<512, 8, 2048, Layers>(settings);
}

}  // namespace

int main(int argc, char** argv) {
  return run_with_settings(
      argc, argv,
      R"({"shape": "small", "layers": 1, "causal": false, "dropout": 0.1, "threads": 1, )"
      R"("sequences": 50, "length": 80})",
      [](const Json& settings) {
        const int layers = settings.at("layers");
        if (settings.at("shape") == "small" && layers == 1) return run<128, 16, 512, 1>(settings);
        switch (settings.at("shape") == "base" ? layers : 0) {
          case 1:
            return run_base<1>(settings);
          case 2:
            return run_base<2>(settings);
          case 4:
            return run_base<4>(settings);
          case 8:
            return run_base<8>(settings);
          case 16:
            return run_base<16>(settings);
          case 24:
            return run_base<24>(settings);
          default:
            throw std::invalid_argument("no layers like these were compiled");
        }
      });
}
