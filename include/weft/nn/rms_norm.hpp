// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file RMS normalisation as a module.
#pragma once

#include <weft/core/index.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/layer_norm.hpp>

namespace weft::nn {

//! Divides each row by the root of its mean square, then scales it by `weight`: a layer
//! normalisation that takes no mean off and adds no bias.
//!
//! **Shapes.** x, y: (N, C). weight: (C). 10 to the power `EpsilonPower` is added to mean squares.
//! **Source.** Zhang and Sennrich 2019, as PyTorch's `nn.RMSNorm(C, eps=1e-5)`.
template <index_t C, int EpsilonPower = -5>
using RmsNorm = LayerNorm<C, ops::Centring::none, EpsilonPower>;

static_assert(UnaryModule<RmsNorm<1>>);

}  // namespace weft::nn
