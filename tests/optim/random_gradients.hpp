// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What an optimizer is given in tests.
#pragma once

#include <weft/core/index.hpp>
#include <weft/core/philox.hpp>

#include <cstdint>
#include <vector>

namespace weft::testing {

//! n numbers between -1 and 1, others for every update.
inline std::vector<float> random_gradients(index_t n, index_t update) {
  std::vector<float> gradients;
  for (index_t i = 0; i < n; ++i) {
    const auto bits = philox(
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(update), 0, 0}, {2, 3})[0];
    gradients.push_back(static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f);
  }
  return gradients;
}

}  // namespace weft::testing
