// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The three probabilities of dropout in a Transformer.
#pragma once

namespace weft::nn {

//! Where a Transformer drops elements, each with its probability.
struct Dropouts {
  float residual = 0.0f;    //!< of embeddings and of the outputs of branches
  float attention = 0.0f;   //!< of attention's probabilities
  float activation = 0.0f;  //!< inside the feed-forward network

  //! The same everywhere, as in PyTorch's nn.Transformer.
  static constexpr Dropouts everywhere(float probability) {
    return {probability, probability, probability};
  }
};

}  // namespace weft::nn
