// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a GPU's lane makes of four neighbouring columns: the operations of core/simd.hpp.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/device/ptx.cuh>

namespace weft::simd {

//! Four floats.
struct Four {
  float v[4] = {};  //!< in the order of the columns
};

//! Four answers.
struct FourBools {
  bool v[4];  //!< in the order of the columns
};

namespace detail {

template <class F>
__device__ WEFT_INLINE Four each(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}

}  // namespace detail

// Each of these is rounded by itself. Left to the compiler some products and sums would be one
// instruction, in one place and not in another: bits would depend on how a row lies, and a gradient
// that is 0 be 1e-7.

//! Column by column.
__device__ WEFT_INLINE Four operator+(Four a, Four b) {
  return detail::each([&](int i) { return __fadd_rn(a.v[i], b.v[i]); });
}
//! Column by column.
__device__ WEFT_INLINE Four operator-(Four a, Four b) {
  return detail::each([&](int i) { return __fsub_rn(a.v[i], b.v[i]); });
}
//! Column by column.
__device__ WEFT_INLINE Four operator*(Four a, Four b) {
  return detail::each([&](int i) { return __fmul_rn(a.v[i], b.v[i]); });
}
//! Each column with the number.
__device__ WEFT_INLINE Four operator+(Four a, float b) {
  return detail::each([&](int i) { return __fadd_rn(a.v[i], b); });
}
//! Each column with the number.
__device__ WEFT_INLINE Four operator-(Four a, float b) {
  return detail::each([&](int i) { return __fsub_rn(a.v[i], b); });
}
//! The number with each column.
__device__ WEFT_INLINE Four operator-(float a, Four b) {
  return detail::each([&](int i) { return __fsub_rn(a, b.v[i]); });
}
//! Each column with the number.
__device__ WEFT_INLINE Four operator*(Four a, float b) {
  return detail::each([&](int i) { return __fmul_rn(a.v[i], b); });
}
//! The number with each column.
__device__ WEFT_INLINE Four operator*(float a, Four b) { return b * a; }
//! The number by each column.
__device__ WEFT_INLINE Four operator/(float a, Four b) {
  return detail::each([&](int i) { return a / b.v[i]; });
}
//! Each column's.
__device__ WEFT_INLINE Four operator-(Four a) {
  return detail::each([&](int i) { return -a.v[i]; });
}
//! Column by column.
__device__ WEFT_INLINE Four& operator+=(Four& a, Four b) { return a = a + b; }
//! Each column's answer.
__device__ WEFT_INLINE FourBools operator>(Four a, float b) {
  return {{a.v[0] > b, a.v[1] > b, a.v[2] > b, a.v[3] > b}};
}
//! Each column's answer.
__device__ WEFT_INLINE FourBools operator<=(Four a, float b) {
  return {{a.v[0] <= b, a.v[1] <= b, a.v[2] <= b, a.v[3] <= b}};
}

//! `mask ? a : b`, column by column.
__device__ WEFT_INLINE Four select(FourBools mask, Four a, Four b) {
  return detail::each([&](int i) { return mask.v[i] ? a.v[i] : b.v[i]; });
}
//! The larger of each two; b where either is NaN.
__device__ WEFT_INLINE Four max(Four a, Four b) {
  return detail::each([&](int i) { return max(a.v[i], b.v[i]); });
}
//! e to the power of each.
__device__ WEFT_INLINE Four exp(Four x) {
  return detail::each([&](int i) { return exp(x.v[i]); });
}
//! The sum of the four.
__device__ WEFT_INLINE float sum(Four a) {
  return __fadd_rn(__fadd_rn(a.v[0], a.v[1]), __fadd_rn(a.v[2], a.v[3]));
}
//! The largest of the four; as of two, the later where one is NaN.
__device__ WEFT_INLINE float max(Four a) { return max(max(a.v[0], a.v[1]), max(a.v[2], a.v[3])); }

//! What is not there becomes `neutral`.
template <bool AtOnce>
__device__ WEFT_INLINE Four mask_tail(Quad<AtOnce>, Four v, float) {
  return v;
}
//! What is not there becomes `neutral`.
__device__ WEFT_INLINE Four mask_tail(QuadTail c, Four v, float neutral) {
  return detail::each([&](int i) { return i < c.count ? v.v[i] : neutral; });
}

// No `mask_tail` branches, and what follows is the same code: so are its bits, however a quad lies.

//! Four columns.
template <bool AtOnce>
__device__ WEFT_INLINE Four load(const float* row, Quad<AtOnce> c) {
  const float* const from = row + c.first;
  float4 four;
  if constexpr (AtOnce) {
    four = *reinterpret_cast<const float4*>(from);
  } else {
    four = make_float4(from[0], from[1], from[2], from[3]);
  }
  return {{four.x, four.y, four.z, four.w}};
}
//! Four columns.
template <bool AtOnce>
__device__ WEFT_INLINE void store(float* row, Quad<AtOnce> c, Four v) {
  float* const to = row + c.first;
  if constexpr (AtOnce) {
    ptx::store_four(to, v.v[0], v.v[1], v.v[2], v.v[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = v.v[i];
  }
}

//! Columns past the end read as 0.
template <class T>
__device__ WEFT_INLINE Four load(const T* row, QuadTail c) {
  return detail::each([&](int i) { return i < c.count ? load(row, index_t{c.first + i}) : 0.0f; });
}
//! Leaves the columns past the end alone.
template <class T>
__device__ WEFT_INLINE void store(T* row, QuadTail c, Four v) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < c.count) store(row, index_t{c.first + i}, v.v[i]);
  }
}

namespace detail {

//! The floats that two numbers of 16 bits are, the first in the lower half.
__device__ WEFT_INLINE float2 widen(std::uint32_t halves, bool is_bfloat16) {
  Float16 low, high;
  low.bits = static_cast<std::uint16_t>(halves);
  high.bits = static_cast<std::uint16_t>(halves >> 16);
  const float2 of_float16{static_cast<float>(low), static_cast<float>(high)};
  return {is_bfloat16 ? __uint_as_float(halves << 16) : of_float16.x,
          is_bfloat16 ? __uint_as_float(halves & 0xffff0000u) : of_float16.y};
}

//! The same the other way.
__device__ WEFT_INLINE std::uint32_t narrow(float low, float high, bool is_bfloat16) {
  Bfloat16 upper[2] = {Bfloat16(low), Bfloat16(high)};
  Float16 half[2] = {Float16(low), Float16(high)};
  const std::uint32_t of_bfloat16 = upper[0].bits | static_cast<std::uint32_t>(upper[1].bits) << 16;
  const std::uint32_t of_float16 = half[0].bits | static_cast<std::uint32_t>(half[1].bits) << 16;
  return is_bfloat16 ? of_bfloat16 : of_float16;
}

}  // namespace detail

//! Four columns, as floats. There is no branch for each type: what follows one waits for its
//! number, and the next array would be asked only then. So floats are read by two requests, of
//! which numbers of 16 bits have the first.
template <class Void, bool AtOnce>
__device__ WEFT_INLINE Four load(AnyFloats<Void> row, Quad<AtOnce> c) {
  const bool rounded = row.rounded(), is_bfloat16 = row.type == FloatType::bfloat16;
  uint2 words, more{};
  if constexpr (AtOnce) {
    const char* const at =
        reinterpret_cast<const char*>(row.data) + index_t{c.first} * (rounded ? 2 : 4);
    words = *reinterpret_cast<const uint2*>(at);
    if (!rounded) more = *reinterpret_cast<const uint2*>(at + 8);
  } else {
    const auto* const halves = reinterpret_cast<const std::uint16_t*>(row.data) + c.first;
    const auto* const floats = reinterpret_cast<const std::uint32_t*>(row.data) + c.first;
    if (rounded) {
      words.x = halves[0] | std::uint32_t{halves[1]} << 16;
      words.y = halves[2] | std::uint32_t{halves[3]} << 16;
    } else {
      words = make_uint2(floats[0], floats[1]);
      more = make_uint2(floats[2], floats[3]);
    }
  }
  const float2 low = detail::widen(words.x, is_bfloat16),
               high = detail::widen(words.y, is_bfloat16);
  return {{rounded ? low.x : __uint_as_float(words.x), rounded ? low.y : __uint_as_float(words.y),
           rounded ? high.x : __uint_as_float(more.x), rounded ? high.y : __uint_as_float(more.y)}};
}
//! Four columns, rounded to what lies there.
template <bool AtOnce>
__device__ WEFT_INLINE void store(AnyFloats<void> row, Quad<AtOnce> c, Four v) {
  const bool is_bfloat16 = row.type == FloatType::bfloat16;
  const uint2 halves{detail::narrow(v.v[0], v.v[1], is_bfloat16),
                     detail::narrow(v.v[2], v.v[3], is_bfloat16)};
  if (!row.rounded()) return store(row.floats(), c, v);
  auto* const to = reinterpret_cast<std::uint16_t*>(row.data) + c.first;
  if constexpr (AtOnce) {
    *reinterpret_cast<uint2*>(to) = halves;
  } else {
    to[0] = static_cast<std::uint16_t>(halves.x);
    to[1] = static_cast<std::uint16_t>(halves.x >> 16);
    to[2] = static_cast<std::uint16_t>(halves.y);
    to[3] = static_cast<std::uint16_t>(halves.y >> 16);
  }
}

}  // namespace weft::simd
