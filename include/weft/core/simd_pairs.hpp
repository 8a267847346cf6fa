// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Pairs of Bfloat16, sixteen at a time, for processors that add two products to a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/core/bfloat16.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>

#if WEFT_AVX512 && defined(__AVX512BF16__)
#define WEFT_AVX512_BF16 1
#else
//! Whether the compiler may use AVX-512's products of Bfloat16.
#define WEFT_AVX512_BF16 0
#endif

namespace weft::simd {

//! Two numbers that lie side by side.
struct Bfloat16Pair {
  Bfloat16 first;   //!< at the even place
  Bfloat16 second;  //!< behind it
};

//! The pairs of a pack. **Shapes.** row: the first pair of the row.
WEFT_INLINE Words load(const Bfloat16Pair* row, Full c) { return load_all<Words>(row + c.first); }
//! The pairs past the end read as zeros.
WEFT_INLINE Words load(const Bfloat16Pair* row, Tail c) {
  Words v{};
  std::memcpy(&v, row + c.first, static_cast<std::size_t>(c.count) * sizeof(Bfloat16Pair));
  return v;
}

//! The same pair sixteen times.
template <class Vector = Words>
WEFT_INLINE Vector broadcast(Bfloat16Pair pair) {
  std::uint32_t word;
  std::memcpy(&word, &pair, sizeof word);
  return Vector{} + word;
}

#if WEFT_AVX512_BF16
//! c plus both products of each two pairs. What is below 2^-126 counts as 0.
WEFT_INLINE Floats multiply_add(Words a, Words b, Floats c) {
  // g++ and clang give the builtin's arguments different types.
  asm("vdpbf16ps {%2, %1, %0|%0, %1, %2}" : "+v"(c) : "v"(a), "v"(b));
  return c;
}
#endif

}  // namespace weft::simd
