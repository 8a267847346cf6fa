// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers that are floats or were rounded to 16 bits: which is known when the program runs.
#pragma once

#include <type_traits>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>

namespace weft {

//! What numbers lie as in memory.
enum class FloatType { float32, bfloat16, float16 };

//! As messages name it.
inline const char* to_text(FloatType type) {
  return type == FloatType::float32    ? "float32"
         : type == FloatType::bfloat16 ? "bfloat16"
                                       : "float16";
}

//! Bytes of a number.
constexpr index_t size_of(FloatType type) { return type == FloatType::float32 ? 4 : 2; }

//! Points to floats, Bfloat16 or Float16, of which a kernel reads and writes each as a float. One
//! kernel serves all three: it asks at each pack of columns, where memory is what it waits for.
//!
//! `Void` is `const void` where they are only read.
template <class Void>
struct AnyFloats {
  //! T, or const T where they are only read.
  template <class T>
  using Number = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;                 //!< the first number
  FloatType type = FloatType::float32;  //!< what they lie as

  AnyFloats() = default;
  //! Numbers of a type that is known when the program runs.
  WEFT_HOST_DEVICE constexpr AnyFloats(Void* first, FloatType type_of_all)
      : data(first), type(type_of_all) {}
  //! Floats.
  WEFT_HOST_DEVICE constexpr AnyFloats(Number<float>* first) : data(first) {}
  //! Rounded numbers.
  WEFT_HOST_DEVICE constexpr AnyFloats(Number<Bfloat16>* first)
      : data(first), type(FloatType::bfloat16) {}
  //! Rounded numbers.
  WEFT_HOST_DEVICE constexpr AnyFloats(Number<Float16>* first)
      : data(first), type(FloatType::float16) {}

  //! Numbers that may change are also some that may not.
  template <class Other>
  requires(std::is_const_v<Void> && !std::is_const_v<Other>) WEFT_HOST_DEVICE
      constexpr AnyFloats(AnyFloats<Other> numbers)
      : data(numbers.data), type(numbers.type) {}

  friend bool operator==(const AnyFloats&, const AnyFloats&) = default;

  //! Whether they are not floats.
  [[nodiscard]] WEFT_HOST_DEVICE constexpr bool rounded() const {
    return type != FloatType::float32;
  }

  //! The first one, as of type T: that of `type`.
  template <class T>
  [[nodiscard]] WEFT_HOST_DEVICE Number<T>* as() const {
    return static_cast<Number<T>*>(data);
  }
  //! The first one of floats.
  [[nodiscard]] WEFT_HOST_DEVICE Number<float>* floats() const { return as<float>(); }

  //! Those from number n on.
  [[nodiscard]] WEFT_HOST_DEVICE AnyFloats operator+(index_t n) const {
    using Byte = Number<char>;
    return {static_cast<Byte*>(data) + n * (rounded() ? 2 : 4), type};
  }

  //! On the host: `f(first)`, where `first` points to float, Bfloat16 or Float16.
  template <class F>
  WEFT_INLINE decltype(auto) read(const F& f) const {
    if (type == FloatType::bfloat16) return f(as<Bfloat16>());
    if (type == FloatType::float16) return f(as<Float16>());
    return f(floats());
  }
};

namespace simd {

//! The columns of a pack, or one column, as floats.
template <class Void, class Column>
WEFT_HOST_DEVICE WEFT_INLINE auto load(AnyFloats<Void> row, Column c) {
  if (row.type == FloatType::bfloat16) return load(row.template as<Bfloat16>(), c);
  if (row.type == FloatType::float16) return load(row.template as<Float16>(), c);
  return load(row.floats(), c);
}

//! Writes the columns of a pack, or one column, rounded to what lies there.
template <class Column, class Value>
WEFT_HOST_DEVICE WEFT_INLINE void store(AnyFloats<void> row, Column c, Value v) {
  if (row.type == FloatType::bfloat16) return store(row.as<Bfloat16>(), c, v);
  if (row.type == FloatType::float16) return store(row.as<Float16>(), c, v);
  store(row.floats(), c, v);
}

#ifdef __CUDA_ARCH__
// On a GPU both of two numbers are found and one of two instructions is left out, and nothing
// branches: a thread goes on to what it reads next, where behind a branch it would wait.

//! One column, as a float.
template <class Void>
__device__ inline float load(AnyFloats<Void> row, index_t c) {
  float number = 0.0f;
  Bfloat16 upper;
  if (row.rounded()) {
    upper = row.template as<Bfloat16>()[c];
  } else {
    number = row.floats()[c];
  }
  Float16 half;
  half.bits = upper.bits;
  const float of_half = static_cast<float>(half);
  if (row.type == FloatType::bfloat16) number = static_cast<float>(upper);
  if (row.type == FloatType::float16) number = of_half;
  return number;
}

//! Writes one column, rounded to what lies there.
__device__ inline void store(AnyFloats<void> row, index_t c, float v) {
  const Bfloat16 upper(v);
  const Float16 half(v);
  Bfloat16 rounded = upper;
  if (row.type == FloatType::float16) rounded.bits = half.bits;
  if (row.rounded()) {
    row.as<Bfloat16>()[c] = rounded;
  } else {
    row.floats()[c] = v;
  }
}
#endif

}  // namespace simd

}  // namespace weft
