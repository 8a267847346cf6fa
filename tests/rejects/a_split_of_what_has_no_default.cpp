// expect: split asks each module how many parameters it has when it compiles
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/embedding.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/parallel/schedule/gpipe.hpp>
#include <weft/parallel/split.hpp>

using namespace weft;

struct Words : nn::Embedding<8> {
  constexpr explicit Words(index_t words) : nn::Embedding<8>(words, 16, 0.0f) {}
};

const nn::Sequential model(Words(24), nn::LayerNorm<8>());
const auto stages = split<GPipe<2>, 2>(model);
