// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sixteen floats at a time: in one register, or in pairs of narrower ones.
//!
//! The width is fixed: a machine with narrower registers splits a vector, so that sums have the
//! same order on all of them. (Tried: Highway and `#pragma omp simd` cost twice the time of Philox,
//! and the pragma needs flags that belong to the user.)
//!
//! A kernel names columns by a *pack*: `Full` stands for sixteen columns, `Tail` for the fewer
//! that end a row, and a single `index_t` for one. `load` and `store` take any of them, so one
//! generic lambda serves all three:
//!
//!     lanes.for_each(C, [&](auto c) { store(y, c, load(x, c) * load(gain, c)); });
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/registers.hpp>
#include <weft/core/vector_pair.hpp>

namespace weft::simd {

//! Columns of a pack, on every processor.
inline constexpr int width = 16;

//! Sixteen floats.
using Floats = VectorOf<FloatRegister, 64>::type;
//! Sixteen 32-bit integers.
using Ints = VectorOf<IntRegister, 64>::type;
//! Sixteen 32-bit words.
using Words = VectorOf<WordRegister, 64>::type;

//! Sixteen columns from `first` on.
struct Full {
  index_t first;  //!< the column
};

//! The last columns of a row: `count` of them, 0 < count < 16.
struct Tail {
  index_t first;  //!< the column
  int count;      //!< how many columns
};

//! The same number sixteen times, or as often as `Vector` holds it.
template <class Vector = Floats>
WEFT_INLINE Vector broadcast(float x) {
  return x - Vector{};
}

//! 0, 1, ..., 15.
template <class Vector = Ints>
WEFT_INLINE Vector iota() {
  constexpr std::int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return load_all<Vector>(numbers);
}

#if WEFT_AVX512
WEFT_INLINE std::uint16_t mask_of(Tail c) {
  return static_cast<std::uint16_t>((1u << c.count) - 1);
}
#endif

//! The columns of a pack. **Shapes.** row: the first element of the row.
WEFT_INLINE Floats load(const float* row, Full c) { return load_all<Floats>(row + c.first); }
//! The columns of a pack. **Shapes.** row: the first element of the row.
WEFT_INLINE Ints load(const std::int32_t* row, Full c) { return load_all<Ints>(row + c.first); }

//! The columns past the end read as 0.
WEFT_INLINE Floats load(const float* row, Tail c) {
#if WEFT_AVX512
  return load_masked(row + c.first, mask_of(c));
#elif defined(__AVX2__)
  const float* const from = row + c.first;
  const auto mask = iota() < c.count;
  return {load_masked(from, mask.first), load_masked(from + 8, mask.second)};
#else
  Floats v{};
  std::memcpy(&v, row + c.first, static_cast<std::size_t>(c.count) * sizeof(float));
  return v;
#endif
}

//! The columns past the end read as 0.
WEFT_INLINE Ints load(const std::int32_t* row, Tail c) {
  Ints v{};
  std::memcpy(&v, row + c.first, static_cast<std::size_t>(c.count) * sizeof(std::int32_t));
  return v;
}

//! Writes the columns of a pack.
WEFT_INLINE void store(float* row, Full c, Floats v) { store_all(row + c.first, v); }

//! Leaves the columns past the end alone.
WEFT_INLINE void store(float* row, Tail c, Floats v) {
#if WEFT_AVX512
  store_masked(row + c.first, mask_of(c), v);
#else
  store_first(row + c.first, c.count, v);
#endif
}

//! One column, as a GPU's lane takes it.
WEFT_HOST_DEVICE inline float load(const float* row, index_t c) { return row[c]; }
//! One column, as a GPU's lane writes it.
WEFT_HOST_DEVICE inline void store(float* row, index_t c, float v) { row[c] = v; }

//! `mask ? a : b`, for one column.
WEFT_HOST_DEVICE inline float select(bool mask, float a, float b) { return mask ? a : b; }

//! Two numbers, or packs of them, that are found together.
template <class Value>
struct Pair {
  Value first;   //!< one of them
  Value second;  //!< the other
};
//! Those two.
template <class Value>
WEFT_HOST_DEVICE WEFT_INLINE Pair<Value> pair(Value first, Value second) {
  return {first, second};
}

//! An array, for kernels that are one source: nvcc takes none of vectors that they name.
template <class Value, int Count>
struct Several {
  Value v[Count];  //!< the elements
};

// The second argument if either is NaN.
//! The larger of each two; b where either is NaN.
WEFT_INLINE Floats max(Floats a, Floats b) { return select(a > b, a, b); }
//! The larger; b if either is NaN.
WEFT_HOST_DEVICE inline float max(float a, float b) { return a > b ? a : b; }
//! The smaller of each two; b where either is NaN.
WEFT_INLINE Floats min(Floats a, Floats b) { return select(a < b, a, b); }
//! The smaller; b if either is NaN.
WEFT_HOST_DEVICE inline float min(float a, float b) { return a < b ? a : b; }

//! The square root of one column.
WEFT_HOST_DEVICE inline float sqrt(float x) { return std::sqrt(x); }

//! e to the power x, to a relative error of 3e-7 for x in [-87, 88]; below -87 it is 0, above 88 it
//! is e^88. That of NaN is NaN. (5e-6 where -ffast-math makes one number of the two parts of ln 2.)
//!
//! x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial of degree 6, times 2^n, which is made
//! of its exponent. (To add n to the exponent of e^r would make numbers of some NaNs.) 0.27 ns an
//! element where a call of std::exp takes 3.4.
WEFT_INLINE Floats exp(Floats x) {
  // 1.5 * 2^23, to which a number is added as an integer, and the bias of a float's exponent.
  constexpr float to_integer = 12582912.0f + 127.0f;
  // In this order of the arguments: min and max return the second one if either is NaN.
  const Floats clamped = min(broadcast(88.0f), max(broadcast(-87.0f), x));
  const Floats shifted = clamped * 1.44269504088896341f + to_integer;
  // Of its bits: -ffast-math takes shifted - to_integer for what was added.
  const Floats n = to_floats(bits_as<Ints>(shifted) - std::bit_cast<std::int32_t>(to_integer));
  // ln 2 in two parts, the first with zeros at its end, so that n * first is exact.
  const Floats r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;
  Floats p = r * 1.3888889e-3f + 8.3333333e-3f;
  p = p * r + 4.1666667e-2f;
  p = p * r + 1.6666667e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const Ints power = bits_as<Ints>(shifted) << 23;
  return select(x < -87.0f, Floats{}, p * bits_as<Floats>(power));
}
//! e to the power x, of one column.
WEFT_HOST_DEVICE inline float exp(float x) { return std::exp(x); }

//! The sum of sixteen lanes, as a balanced tree: (0+8) + (4+12) ... in a fixed order.
WEFT_INLINE float sum(Floats v) {
  // A loop over lanes made dot products of 512 elements take 1.6 times as long.
  FourFloats a[4];
  store_all(a, v);
  const FourFloats sums = (a[0] + a[2]) + (a[1] + a[3]);
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

//! The largest of sixteen lanes.
WEFT_INLINE float max(Floats v) {
  float a[width];
  std::memcpy(a, &v, sizeof v);
  for (int half = width / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) a[lane] = max(a[lane], a[lane + half]);
  }
  return a[0];
}

namespace detail {

//! Cosines and sines as the processor's library finds them.
inline Pair<Floats> library_cos_sin(Floats x) {
  float angles[width], cosines[width], sines[width];
  store_all(angles, x);
  for (int lane = 0; lane < width; ++lane) {
    cosines[lane] = std::cos(angles[lane]);
    sines[lane] = std::sin(angles[lane]);
  }
  return pair(load_all<Floats>(cosines), load_all<Floats>(sines));
}

}  // namespace detail

//! Cosines and sines of angles, to 1.2e-7. (Where -ffast-math makes one number of the parts of pi /
//! 2 only of small ones.)
//!
//! x = n pi / 2 + r with |r| <= pi / 4, cosine and sine of r by polynomials, which n exchanges and
//! negates. The parts of pi / 2 have 7 bits, so that n times each is exact up to |x| = 2^17; beyond
//! it is the library that finds them. 1.7 ns an angle on a Zen 3, where two calls of it
//! take 12.8.
//!
//! **Source.** The polynomials are those of Cephes' sinf and cosf (Moshier).
WEFT_INLINE Pair<Floats> cos_sin(Floats x) {
  if (max(max(x, -x)) > 131072.0f) return detail::library_cos_sin(x);
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: a number is added to it as an integer
  const Floats shifted = x * 0.63661977236758134f + to_integer;
  const Ints n = bits_as<Ints>(shifted) - std::bit_cast<std::int32_t>(to_integer);
  const Floats quarters = to_floats(n);
  const Floats r = ((x - quarters * 1.5625f) - quarters * 0.0081787109375f) -
                   quarters * 0.00011730194091796875f - quarters * 3.1391647865e-7f;
  const Floats square = r * r;
  Floats s = square * -1.9515295891e-4f + 8.3321608736e-3f;
  s = s * square - 1.6666654611e-1f;
  s = s * square * r + r;
  Floats c = square * 2.443315711809948e-5f - 1.388731625493765e-3f;
  c = c * square + 4.166664568298827e-2f;
  c = c * square * square - square * 0.5f + 1.0f;
  const auto exchanged = (n & 1) > 0;
  const Floats cosine = select(exchanged, s, c), sine = select(exchanged, c, s);
  const auto signed_by = [](Floats v, Ints quarter) {  // bit 1 becomes the sign
    return bits_as<Floats>(bits_as<Ints>(v) ^ ((quarter & 2) << 30));
  };
  return pair(signed_by(cosine, n + 1), signed_by(sine, n));
}
//! Cosine and sine of an angle.
WEFT_HOST_DEVICE inline Pair<float> cos_sin(float x) {
#ifdef __CUDA_ARCH__
  Pair<float> both;
  ::sincosf(x, &both.second, &both.first);
  return both;
#else
  return {std::cos(x), std::sin(x)};
#endif
}

//! Lanes past the end of a row become `neutral`.
WEFT_INLINE Floats mask_tail(Full, Floats v, float) { return v; }
//! Lanes past the end of a row become `neutral`.
WEFT_INLINE Floats mask_tail(Tail c, Floats v, float neutral) {
  return select(iota() < c.count, v, broadcast(neutral));
}

}  // namespace weft::simd
