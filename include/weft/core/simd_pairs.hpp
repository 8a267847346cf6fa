// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Pairs of Bfloat16, sixteen at a time, for processors that add two products to a float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

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

//! Words for as many sums as `NarrowFloats` has.
using NarrowWords = std::uint32_t __attribute__((vector_size(sizeof(NarrowFloats))));
//! Words for as many sums as a vector of floats has.
template <class Vector>
using WordsFor = std::conditional_t<sizeof(Vector) == sizeof(Words), Words, NarrowWords>;

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

// g++ and clang give the builtins' arguments different types.

//! c plus both products of each two pairs. What is below 2^-126 counts as 0.
WEFT_INLINE Floats multiply_add(Words a, Words b, Floats c) {
  asm("vdpbf16ps {%2, %1, %0|%0, %1, %2}" : "+v"(c) : "v"(a), "v"(b));
  return c;
}
//! The same of eight pairs.
WEFT_INLINE NarrowFloats multiply_add(NarrowWords a, NarrowWords b, NarrowFloats c) {
  asm("vdpbf16ps {%2, %1, %0|%0, %1, %2}" : "+v"(c) : "v"(a), "v"(b));
  return c;
}

//! Pairs of neighbours, (a[0], a[1]) to (b[14], b[15]), rounded as `Bfloat16` rounds; what is below
//! 2^-126 becomes 0.
WEFT_INLINE Words round_neighbours(Floats a, Floats b) {
  Words pairs;
  asm("vcvtne2ps2bf16 {%1, %2, %0|%0, %2, %1}" : "=v"(pairs) : "v"(a), "v"(b));
  return pairs;
}

//! The pairs (a[i], b[i]), rounded likewise.
WEFT_INLINE Words round_pairs(Floats a, Floats b) {
  using Halves = std::uint16_t __attribute__((vector_size(64)));
  const auto both = (Halves)round_neighbours(a, b);
  return (Words)__builtin_shufflevector(both, both, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                        7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                        15, 31);
}

#endif

}  // namespace weft::simd
