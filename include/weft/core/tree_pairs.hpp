// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The balanced tree in which sums over lanes and ranks are taken.
#pragma once

#include <weft/core/index.hpp>

namespace weft {

//! Calls `add(l, l + s)` for s = 1, 2, 4, ... and every l that is a multiple of 2 s, for 0 <= l,
//! l + s < count, where the right side is still there: `present(l + s)`.
//!
//! Who owns neighbouring ones may add some of these pairs early; they are the same pairs.
template <class Present, class Add>
void for_tree_pairs(index_t count, Present present, Add add) {
  for (index_t step = 1; step < count; step *= 2) {
    for (index_t left = 0; left + step < count; left += 2 * step) {
      if (present(left + step)) add(left, left + step);
    }
  }
}

}  // namespace weft
