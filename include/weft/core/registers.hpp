// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The machine's vector registers, and what the vector extensions of g++ and clang lack.
//!
//! Operators on these types are the compilers' own, element by element; a comparison gives a mask
//! of ones and zeros. What follows is one instruction each.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define WEFT_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define WEFT_AVX512 1
#else
#define WEFT_AVX512 0
#endif

namespace weft::simd {

#if WEFT_AVX512
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

using FloatRegister = float __attribute__((vector_size(register_bytes)));
using IntRegister = std::int32_t __attribute__((vector_size(register_bytes)));
using WordRegister = std::uint32_t __attribute__((vector_size(register_bytes)));
using LongRegister = std::uint64_t __attribute__((vector_size(register_bytes)));

//! `mask ? a : b`, element by element. Masks come from comparisons.
WEFT_INLINE FloatRegister select(IntRegister mask, FloatRegister a, FloatRegister b) {
  return mask ? a : b;
}

//! The square roots, rounded as std::sqrt does.
WEFT_INLINE FloatRegister sqrt(FloatRegister x) {
#if WEFT_AVX512
  return (FloatRegister)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);  // g++ 12 warns of the plain form
#elif defined(__AVX2__)
  return (FloatRegister)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (FloatRegister)_mm_sqrt_ps((__m128)x);
#else
  for (int i = 0; i < register_bytes / 4; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

//! The products of the lower halves of 64-bit elements.
WEFT_INLINE LongRegister multiply_low_words(LongRegister a, LongRegister b) {
#if WEFT_AVX512
  return (LongRegister)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (LongRegister)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (LongRegister)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

//! 64-bit products, in halves.
template <class Words>
struct WordProducts {
  Words high;
  Words low;
};

//! The products of 32-bit elements with `m`.
WEFT_INLINE WordProducts<WordRegister> multiply_wide(WordRegister a, std::uint32_t m) {
  constexpr std::uint64_t lower = 0xffffffffu;
  const LongRegister factor = LongRegister{} + m;
  const auto pairs = (LongRegister)a;
  const LongRegister even = multiply_low_words(pairs, factor);
  const LongRegister odd = multiply_low_words(pairs >> 32, factor);
  return {(WordRegister)((even >> 32) | (odd & ~lower)), (WordRegister)((even & lower) | odd << 32)};
}

}  // namespace weft::simd
