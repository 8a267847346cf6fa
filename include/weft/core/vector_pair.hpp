// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A vector that is wider than the machine's registers, as two halves.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <weft/core/registers.hpp>

namespace weft::simd {

//! Two vectors that are calculated with as one of twice the width. A half may be a pair itself.
//!
//! The compilers' own vector types may be wider than a register too, but g++ takes them apart late
//! and badly (GELU took 4.5 ns an element with AVX2, pairs 0.6), and both warn of passing them.
template <class Half>
struct VectorPair {
  Half first;   //!< the lower elements
  Half second;  //!< the upper elements
};

//! What each element of a vector is calculated with alike.
template <class T>
concept Number = std::is_arithmetic_v<T>;

//! What comparing two vectors gives.
template <class Vector>
struct MaskOf {
  //! of a register
  using type = IntRegister;
};
//! The mask of a pair is a pair of masks.
template <class Half>
struct MaskOf<VectorPair<Half>> {
  //! half by half
  using type = VectorPair<typename MaskOf<Half>::type>;
};
//! What comparing two vectors gives.
template <class Vector>
using Mask = typename MaskOf<Vector>::type;

//! `result` for a pair and a pair, a pair and a number, and a number and a pair.
#define WEFT_BY_HALVES(op, result)                                              \
  template <class Half>                                                         \
  WEFT_INLINE result operator op(VectorPair<Half> a, VectorPair<Half> b) {      \
    return {a.first op b.first, a.second op b.second};                          \
  }                                                                             \
  template <class Half, Number N>                                               \
  WEFT_INLINE result operator op(VectorPair<Half> a, N b) {                     \
    return {a.first op b, a.second op b};                                       \
  }                                                                             \
  template <class Half, Number N>                                               \
  WEFT_INLINE result operator op(N a, VectorPair<Half> b) {                     \
    return {a op b.first, a op b.second};                                       \
  }

WEFT_BY_HALVES(+, VectorPair<Half>)
WEFT_BY_HALVES(-, VectorPair<Half>)
WEFT_BY_HALVES(*, VectorPair<Half>)
WEFT_BY_HALVES(/, VectorPair<Half>)
WEFT_BY_HALVES(&, VectorPair<Half>)
WEFT_BY_HALVES(|, VectorPair<Half>)
WEFT_BY_HALVES(^, VectorPair<Half>)
WEFT_BY_HALVES(<<, VectorPair<Half>)
WEFT_BY_HALVES(>>, VectorPair<Half>)
WEFT_BY_HALVES(<, Mask<VectorPair<Half>>)
WEFT_BY_HALVES(>, Mask<VectorPair<Half>>)
WEFT_BY_HALVES(<=, Mask<VectorPair<Half>>)
WEFT_BY_HALVES(>=, Mask<VectorPair<Half>>)

#undef WEFT_BY_HALVES

//! The negative of each element.
template <class Half>
WEFT_INLINE VectorPair<Half> operator-(VectorPair<Half> a) {
  return {-a.first, -a.second};
}

//! Adds a vector or a number.
template <class Half, class T>
WEFT_INLINE VectorPair<Half>& operator+=(VectorPair<Half>& a, T b) {
  return a = a + b;
}

//! Subtracts a vector or a number.
template <class Half, class T>
WEFT_INLINE VectorPair<Half>& operator-=(VectorPair<Half>& a, T b) {
  return a = a - b;
}

//! `mask ? a : b`, element by element.
template <class Half>
WEFT_INLINE VectorPair<Half> select(Mask<VectorPair<Half>> mask, VectorPair<Half> a,
                                    VectorPair<Half> b) {
  return {select(mask.first, a.first, b.first), select(mask.second, a.second, b.second)};
}

//! The floats of the same values.
template <class Half>
WEFT_INLINE auto to_floats(VectorPair<Half> x) {
  const auto first = to_floats(x.first);
  return VectorPair<std::remove_const_t<decltype(first)>>{first, to_floats(x.second)};
}

//! The square roots, rounded as std::sqrt does.
template <class Half>
WEFT_INLINE VectorPair<Half> sqrt(VectorPair<Half> x) {
  return {sqrt(x.first), sqrt(x.second)};
}

//! a * b + c.
template <class Half>
WEFT_INLINE VectorPair<Half> multiply_add(VectorPair<Half> a, VectorPair<Half> b,
                                          VectorPair<Half> c) {
  return {multiply_add(a.first, b.first, c.first), multiply_add(a.second, b.second, c.second)};
}

//! The products of 32-bit elements with `m`.
template <class Half>
WEFT_INLINE WordProducts<VectorPair<Half>> multiply_wide(VectorPair<Half> a, std::uint32_t m) {
  const auto first = multiply_wide(a.first, m), second = multiply_wide(a.second, m);
  return {{first.high, second.high}, {first.low, second.low}};
}

//! The same bits as another type of vector.
template <class To, class From>
WEFT_INLINE To bits_as(From v) {
  if constexpr (sizeof(From) == register_bytes) {
    return (To)v;
  } else {
    using Half = decltype(To::first);
    return {bits_as<Half>(v.first), bits_as<Half>(v.second)};
  }
}

//! Half by half: g++ copies a pair as bytes through the stack.
template <class Vector>
WEFT_INLINE Vector load_all(const void* from) {
  if constexpr (sizeof(Vector) <= register_bytes) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  } else {
    using Half = decltype(Vector::first);
    return {load_all<Half>(from), load_all<Half>(static_cast<const char*>(from) + sizeof(Half))};
  }
}

//! Writes a vector, half by half.
template <class Vector>
WEFT_INLINE void store_all(void* to, Vector v) {
  if constexpr (sizeof(Vector) <= register_bytes) {
    std::memcpy(to, &v, sizeof v);
  } else {
    store_all(to, v.first);
    store_all(static_cast<char*>(to) + sizeof(v.first), v.second);
  }
}

//! Writes the first `count` elements, fewer than there are, by halves: a call of memcpy for each
//! end of a row took a sixth of attention to sentences of 30 words, AVX2's masked stores more than
//! that.
template <class Vector>
WEFT_INLINE void store_first(float* to, int count, Vector v) {
  constexpr int half = sizeof(Vector) / sizeof(float) / 2;
  if constexpr (std::is_same_v<Vector, FourFloats>) {
    if (count >= half) std::memcpy(to, &v, half * sizeof(float));
    if (count == 1) to[0] = v[0];
    if (count == 3) to[2] = v[2];
  } else if constexpr (std::is_same_v<Vector, FloatRegister>) {
    const auto first = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    if (count < half) return store_first(to, count, first);
    std::memcpy(to, &first, sizeof first);
    store_first(to + half, count - half, __builtin_shufflevector(v, v, 4, 5, 6, 7));
  } else {
    if (count < half) return store_first(to, count, v.first);
    store_all(to, v.first);
    store_first(to + half, count - half, v.second);
  }
}

//! A vector of `bytes`: a register, or pairs of them.
template <class Register, int bytes>
struct VectorOf {
  //! two halves
  using type = VectorPair<typename VectorOf<Register, bytes / 2>::type>;
};
//! A vector that a register holds.
template <class Register>
struct VectorOf<Register, register_bytes> {
  //! the register's own type
  using type = Register;
};

}  // namespace weft::simd
