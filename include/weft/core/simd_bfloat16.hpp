// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sixteen numbers of 16 bits, read as floats and written from them.
#pragma once

#include <cstdint>
#include <cstring>

#include <weft/core/bfloat16.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>

namespace weft::simd {

namespace detail {

//! The lower halves of the words.
template <class Vector>
WEFT_INLINE void store_lower_halves(Bfloat16* to, Vector words) {
  if constexpr (sizeof(Vector) == register_bytes) {
    using Halves = std::uint16_t __attribute__((vector_size(register_bytes / 2)));
    const auto halves = __builtin_convertvector(words, Halves);
    std::memcpy(static_cast<void*>(to), &halves, sizeof halves);
  } else {
    store_lower_halves(to, words.first);
    store_lower_halves(to + sizeof(words.first) / 4, words.second);
  }
}

//! A word for each of as many numbers.
template <class Vector>
WEFT_INLINE Vector load_lower_halves(const Bfloat16* from) {
  if constexpr (sizeof(Vector) == register_bytes) {
    using Halves = std::uint16_t __attribute__((vector_size(register_bytes / 2)));
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return __builtin_convertvector(halves, Vector);
  } else {
    using Half = decltype(Vector::first);
    return {load_lower_halves<Half>(from), load_lower_halves<Half>(from + sizeof(Half) / 4)};
  }
}

}  // namespace detail

//! The columns of a pack. **Shapes.** row: the first element of the row.
WEFT_INLINE Floats load(const Bfloat16* row, Full c) {
  return bits_as<Floats>(detail::load_lower_halves<Words>(row + c.first) << 16);
}
//! The columns past the end read as 0.
WEFT_INLINE Floats load(const Bfloat16* row, Tail c) {
  Bfloat16 numbers[width] = {};
  for (int i = 0; i < c.count; ++i) numbers[i] = row[c.first + i];
  return load(numbers, Full{0});
}
//! One column, as a GPU's lane takes it.
WEFT_HOST_DEVICE inline float load(const Bfloat16* row, index_t c) {
  return static_cast<float>(row[c]);
}

//! Writes the columns of a pack, rounded as `Bfloat16` rounds a float.
WEFT_INLINE void store(Bfloat16* row, Full c, Floats v) {
  const Words word = bits_as<Words>(v);
  const Words rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const Words quiet = (word >> 16) | 0x40u;  // what is no number stays none
  const Words is_nan = bits_as<Words>((word & 0x7fff'ffffu) > 0x7f80'0000u);
  detail::store_lower_halves(row + c.first, (quiet & is_nan) | (rounded & (is_nan ^ ~0u)));
}
//! Leaves the columns past the end alone.
WEFT_INLINE void store(Bfloat16* row, Tail c, Floats v) {
  Bfloat16 numbers[width];
  store(numbers, Full{0}, v);
  for (int i = 0; i < c.count; ++i) row[c.first + i] = numbers[i];
}
//! One column, as a GPU's lane writes it.
WEFT_HOST_DEVICE inline void store(Bfloat16* row, index_t c, float v) { row[c] = Bfloat16(v); }

}  // namespace weft::simd
