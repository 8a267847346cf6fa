// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The order of a product's sums.
#pragma once

#include <weft/core/index.hpp>

namespace weft::ops::detail {

//! Where a sum of K products is cut: each part is summed in ascending order, and the parts are
//! added. oneDNN cuts sums of up to 768 products so, and sums up to 384 without a cut.
inline constexpr index_t most_summed = 384;
inline index_t summed_at_a_time(index_t K) {
  if (K <= most_summed) return K;
  return K <= 2 * most_summed ? (K + 1) / 2 : most_summed;
}

}  // namespace weft::ops::detail
