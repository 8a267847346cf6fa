// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Four neighbouring columns, which a GPU's lane takes at a time.
#pragma once

#include <cstdint>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>

namespace weft::simd {

//! Four columns, that are read and written at once or, where they do not lie so, one by one.
template <bool AtOnce>
struct Quad {
  int first;  //!< the first column, a multiple of four
};

//! The columns of a quad that are there, where a row ends.
struct QuadTail {
  int first;  //!< the column, a multiple of four
  int count;  //!< how many columns: 1 to 3
};

namespace detail {

inline bool begins_quad(const float* first) {
  return reinterpret_cast<std::uintptr_t>(first) % 16 == 0;
}
template <class Void>
bool begins_quad(AnyFloats<Void> first) {
  return reinterpret_cast<std::uintptr_t>(first.data) % (first.rounded() ? 8 : 16) == 0;
}

}  // namespace detail

//! Whether a GPU can read and write four neighbours at once: in arrays whose rows lie so many
//! elements apart, and in vectors. Null pointers do not matter. A kernel whose rows have as many
//! columns says so, and gets less code: `static constexpr bool ends_in_quads = true`.
template <class... Arrays>
[[nodiscard]] bool lie_in_quads(index_t stride, Arrays... arrays) {
  return stride % 4 == 0 && (detail::begins_quad(arrays) && ...);
}

}  // namespace weft::simd
