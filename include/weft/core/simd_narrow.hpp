// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sixteen numbers of 16 bits, read as floats and written from them.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>

namespace weft::simd {

//! A number of 16 bits that floats are rounded to.
template <class T>
concept Narrow = std::same_as<T, Bfloat16> || std::same_as<T, Float16>;

namespace detail {

//! The lower halves of the words.
template <class Vector>
WEFT_INLINE void store_lower_halves(void* to, Vector words) {
  if constexpr (sizeof(Vector) == register_bytes) {
    using Halves = std::uint16_t __attribute__((vector_size(register_bytes / 2)));
    const auto halves = __builtin_convertvector(words, Halves);
    std::memcpy(to, &halves, sizeof halves);
  } else {
    store_lower_halves(to, words.first);
    store_lower_halves(static_cast<char*>(to) + sizeof(words.first) / 2, words.second);
  }
}

//! A word for each of as many numbers.
template <class Vector>
WEFT_INLINE Vector load_lower_halves(const void* from) {
  if constexpr (sizeof(Vector) == register_bytes) {
    using Halves = std::uint16_t __attribute__((vector_size(register_bytes / 2)));
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return __builtin_convertvector(halves, Vector);
  } else {
    using Half = decltype(Vector::first);
    return {load_lower_halves<Half>(from),
            load_lower_halves<Half>(static_cast<const char*>(from) + sizeof(Half) / 2)};
  }
}

//! `mask ? a : b`, word by word.
template <class Mask>
WEFT_INLINE Words choose(Mask mask, Words a, Words b) {
  const Words chosen = bits_as<Words>(mask);
  return (a & chosen) | (b & (chosen ^ ~0u));
}

//! The bits of floats as `Bfloat16` rounds them.
WEFT_INLINE Words round(Words word, Bfloat16) {
  const Words rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const Words quiet = (word >> 16) | 0x40u;  // what is no number stays none
  return choose((word & 0x7fff'ffffu) > 0x7f80'0000u, quiet, rounded);
}

//! The bits of floats as `Float16` rounds them.
WEFT_INLINE Words round(Words word, Float16) {
  const Words size = word & 0x7fff'ffffu;
  const Words normal = (size + (0xfffu - 0x3800'0000u) + ((size >> 13) & 1u)) >> 13;
  const Words small = bits_as<Words>(bits_as<Floats>(size) + 0.5f) - 0x3f00'0000u;
  const Words quiet = ((size >> 13) & 0x3ffu) | 0x7e00u;
  const Words finite = choose(size >= 0x3880'0000u, normal, small);
  const Words large = choose(size > 0x7f80'0000u, quiet, Words{} + 0x7c00u);
  return ((word >> 16) & 0x8000u) | choose(size >= 0x4780'0000u, large, finite);
}

//! The floats that numbers in the lower halves are.
WEFT_INLINE Floats widen(Words word, Bfloat16) { return bits_as<Floats>(word << 16); }

//! The floats that numbers in the lower halves are.
WEFT_INLINE Floats widen(Words word, Float16) {
  const Words size = word & 0x7fffu;
  const Words normal = (size << 13) + 0x3800'0000u;
  const Words small = bits_as<Words>(bits_as<Floats>(size | 0x3f00'0000u) - 0.5f);
  const Words large = (size << 13) | 0x7f80'0000u;
  const Words finite = choose(size >= 0x400u, normal, small);
  return bits_as<Floats>(((word & 0x8000u) << 16) | choose(size >= 0x7c00u, large, finite));
}

}  // namespace detail

//! The columns of a pack. **Shapes.** row: the first element of the row.
template <Narrow T>
WEFT_INLINE Floats load(const T* row, Full c) {
  return detail::widen(detail::load_lower_halves<Words>(row + c.first), T());
}
//! The columns past the end read as 0.
template <Narrow T>
WEFT_INLINE Floats load(const T* row, Tail c) {
  T numbers[width] = {};
  for (int i = 0; i < c.count; ++i) numbers[i] = row[c.first + i];
  return load(numbers, Full{0});
}
//! One column, as a GPU's lane takes it.
template <Narrow T>
WEFT_HOST_DEVICE float load(const T* row, index_t c) {
  return static_cast<float>(row[c]);
}

//! Writes the columns of a pack, rounded as `T` rounds a float.
template <Narrow T>
WEFT_INLINE void store(T* row, Full c, Floats v) {
  detail::store_lower_halves(row + c.first, detail::round(bits_as<Words>(v), T()));
}
//! Leaves the columns past the end alone.
template <Narrow T>
WEFT_INLINE void store(T* row, Tail c, Floats v) {
  T numbers[width];
  store(numbers, Full{0}, v);
  for (int i = 0; i < c.count; ++i) row[c.first + i] = numbers[i];
}
//! One column, as a GPU's lane writes it.
template <Narrow T>
WEFT_HOST_DEVICE void store(T* row, index_t c, float v) {
  row[c] = T(v);
}

}  // namespace weft::simd
