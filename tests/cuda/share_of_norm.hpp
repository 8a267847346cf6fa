// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How far apart two arrays are that were rounded on their ways.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace weft::testing {

//! By how much of the norm of `expected` two arrays differ that have NaN in the same places, which
//! count for nothing; NaN if they have not.
inline double share_of_norm(const std::vector<float>& found, const std::vector<float>& expected) {
  double distance = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    distance += std::pow(double{found[i]} - double{expected[i]}, 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(distance / norm);
}

}  // namespace weft::testing
