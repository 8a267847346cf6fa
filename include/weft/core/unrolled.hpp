// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A loop that the compiler writes out.
#pragma once

#include <type_traits>
#include <utility>

#include <weft/core/registers.hpp>

namespace weft {

//! Calls `f(i)` for 0 to N - 1, where i is a constant of the type.
//!
//! g++ -O2 leaves loops of four steps as loops, and an array that is indexed by their variable in
//! memory: the kernel of a matrix product is then a quarter as fast. (Its pragma to unroll helps
//! too, but nvcc warns of it.)
template <int N, class F>
WEFT_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

}  // namespace weft
