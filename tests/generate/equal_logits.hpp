// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Logits of which many are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>

namespace weft::testing {

//! Logits between -8 and 8 in steps of 1/8, so that many are equal.
inline std::vector<float> equal_logits(index_t rows, index_t V) {
  std::vector<float> logits(static_cast<std::size_t>(rows * V));
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto bits = philox({static_cast<std::uint32_t>(i), 0, 0, 0}, RandomKey(1, 1))[0];
    logits[i] = static_cast<float>(bits % 128) / 8.0f - 8.0f;
  }
  return logits;
}

}  // namespace weft::testing
