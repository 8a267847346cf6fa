// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Losses of logits against labels.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/cross_entropy.hpp>

namespace weft::nn {

//! Cross entropy against labels of which a share is spread evenly over the vocabulary.
struct LabelSmoothing {
  float smoothing = 0.1f;                 //!< the share that all words have together
  token_t ignored = ops::ignore_nothing;  //!< this label counts for nothing (padding)

  constexpr LabelSmoothing() = default;

  //! **Errors.** ArgumentError unless 0 <= smoothing < 1.
  constexpr explicit LabelSmoothing(float share, token_t ignore = ops::ignore_nothing)
      : smoothing(share), ignored(ignore) {
    if (!(share >= 0.0f && share < 1.0f)) {
      throw ArgumentError(text("label smoothing of ", share, ", needs 0 <= share < 1"));
    }
  }
};

//! Cross entropy: label smoothing of nothing.
struct CrossEntropy : LabelSmoothing {
  constexpr CrossEntropy() : CrossEntropy(ops::ignore_nothing) {}
  //! With a label that counts for nothing.
  constexpr explicit CrossEntropy(token_t ignore) : LabelSmoothing(0.0f, ignore) {}
};

}  // namespace weft::nn
