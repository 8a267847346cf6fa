// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The machine's vector registers, and what the vector extensions of g++ and clang lack.
//!
//! Operators on these types are the compilers' own, element by element; a comparison gives a mask
//! of ones and zeros. What follows is one instruction each.
#pragma once

#include <cmath>
#include <cstdint>

#include <weft/core/host_device.hpp>

// g++ compiles <immintrin.h> in a quarter of a second; five instructions have names without it.
#if defined(__clang__) && defined(__SSE2__)
#include <immintrin.h>
#endif

// Where code for a GPU is made, host functions are only read: CUDA 13.0 ends with a segmentation
// fault at some that compare vectors of 64 bytes.
#if defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(__CUDA_ARCH__)
#define WEFT_AVX512 1
#else
//! Whether the compiler may use AVX-512's masked loads and stores.
#define WEFT_AVX512 0
#endif

namespace weft::simd {

#if WEFT_AVX512
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
//! Bytes of a register of the processor that the program is compiled for.
inline constexpr int register_bytes = 16;
#endif

//! As many floats as a register holds.
using FloatRegister = float __attribute__((vector_size(register_bytes)));
#if WEFT_AVX512
//! Eight floats, of which a processor with AVX-512 multiplies as many vectors in a cycle, or twice
//! as many, as of sixteen; without AVX-512 as many as a register holds.
using NarrowFloats = float __attribute__((vector_size(32)));
#else
//! As many floats as a register holds.
using NarrowFloats = FloatRegister;
#endif
//! Four floats, which every processor adds and shuffles.
using FourFloats = float __attribute__((vector_size(16)));
//! As many 32-bit integers as a register holds; also what comparisons give.
using IntRegister = std::int32_t __attribute__((vector_size(register_bytes)));
//! As many 32-bit words as a register holds.
using WordRegister = std::uint32_t __attribute__((vector_size(register_bytes)));
//! As many 64-bit words as a register holds.
using LongRegister = std::uint64_t __attribute__((vector_size(register_bytes)));

//! `mask ? a : b`, element by element. Masks come from comparisons.
WEFT_INLINE FloatRegister select(IntRegister mask, FloatRegister a, FloatRegister b) {
  return mask ? a : b;
}

//! The floats of the same values, which are exact below 2^24.
WEFT_INLINE FloatRegister to_floats(IntRegister x) {
  return __builtin_convertvector(x, FloatRegister);
}

//! The square roots, rounded as std::sqrt does.
WEFT_INLINE FloatRegister sqrt(FloatRegister x) {
#if defined(__clang__) && WEFT_AVX512
  return (FloatRegister)_mm512_sqrt_ps((__m512)x);
#elif defined(__clang__) && defined(__AVX2__)
  return (FloatRegister)_mm256_sqrt_ps((__m256)x);
#elif defined(__clang__) && defined(__SSE2__)
  return (FloatRegister)_mm_sqrt_ps((__m128)x);
#elif WEFT_AVX512
  constexpr int current_rounding = 4;
  return __builtin_ia32_sqrtps512_mask(x, x, -1, current_rounding);
#elif defined(__AVX2__)
  return __builtin_ia32_sqrtps256(x);
#elif defined(__SSE2__)
  return __builtin_ia32_sqrtps(x);
#else
  for (int i = 0; i < register_bytes / 4; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

//! a * b + c. Where there is an instruction for it, it is rounded once, whatever options of the
//! compiler say: g++ that tunes for Zen rounds twice where a loop has one sum, and once where it
//! has several, so that a row had other bits alone than beside others.
WEFT_INLINE NarrowFloats multiply_add(NarrowFloats a, NarrowFloats b, NarrowFloats c) {
#if defined(__AVX2__) && defined(__FMA__) && defined(__clang__)
  return (NarrowFloats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__AVX2__) && defined(__FMA__)
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}
#if WEFT_AVX512
//! The same of sixteen floats.
WEFT_INLINE FloatRegister multiply_add(FloatRegister a, FloatRegister b, FloatRegister c) {
#if defined(__clang__)
  return (FloatRegister)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#else
  constexpr int current_rounding = 4;
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, current_rounding);
#endif
}
#endif

//! The products of the lower halves of 64-bit elements.
WEFT_INLINE LongRegister multiply_low_words(LongRegister a, LongRegister b) {
#if defined(__clang__) || !defined(__SSE2__)
  return (a & 0xffffffffu) * (b & 0xffffffffu);  // clang finds the instruction, g++ another
#else
  using Halves = std::int32_t __attribute__((vector_size(register_bytes)));
#if WEFT_AVX512
  using Products = long long __attribute__((vector_size(register_bytes)));
  return (LongRegister)__builtin_ia32_pmuludq512_mask((Halves)a, (Halves)b, Products{}, 0xff);
#elif defined(__AVX2__)
  return (LongRegister)__builtin_ia32_pmuludq256((Halves)a, (Halves)b);
#else
  return (LongRegister)__builtin_ia32_pmuludq128((Halves)a, (Halves)b);
#endif
#endif
}

//! 64-bit products, in halves.
template <class Words>
struct WordProducts {
  Words high;  //!< the upper 32 bits
  Words low;   //!< the lower 32 bits
};

//! The products of 32-bit elements with `m`.
WEFT_INLINE WordProducts<WordRegister> multiply_wide(WordRegister a, std::uint32_t m) {
  constexpr std::uint64_t lower = 0xffffffffu;
  const LongRegister factor = LongRegister{} + m;
  const auto pairs = (LongRegister)a;
  const LongRegister even = multiply_low_words(pairs, factor);
  const LongRegister odd = multiply_low_words(pairs >> 32, factor);
  return {(WordRegister)((even >> 32) | (odd & ~lower)),
          (WordRegister)((even & lower) | odd << 32)};
}

#if WEFT_AVX512
//! The elements whose bit is in the mask; the others are 0, and their memory is not touched.
WEFT_INLINE FloatRegister load_masked(const float* from, std::uint16_t mask) {
#if defined(__clang__)
  return (FloatRegister)_mm512_maskz_loadu_ps(mask, from);
#else
  return __builtin_ia32_loadups512_mask(from, FloatRegister{}, mask);
#endif
}

//! Leaves the elements alone whose bit is not in the mask.
WEFT_INLINE void store_masked(float* to, std::uint16_t mask, FloatRegister v) {
#if defined(__clang__)
  _mm512_mask_storeu_ps(to, mask, (__m512)v);
#else
  __builtin_ia32_storeups512_mask(to, v, mask);
#endif
}
#elif defined(__AVX2__)
//! The elements whose mask is set; the others are 0, and their memory is not touched.
WEFT_INLINE FloatRegister load_masked(const float* from, IntRegister mask) {
#if defined(__clang__)
  return (FloatRegister)_mm256_maskload_ps(from, (__m256i)mask);
#else
  return __builtin_ia32_maskloadps256((const FloatRegister*)from, mask);
#endif
}
#endif

}  // namespace weft::simd
