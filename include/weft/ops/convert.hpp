// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers of one type from those of another.
#pragma once

#include <type_traits>

#include <weft/core/any_floats.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops {

namespace detail {

template <class From, class To>
struct ConvertPiece {
  const From* x;
  To* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count) const {
    lanes.write(count, y + first, [&](auto c) { return simd::load(x + first, c); });
  }
};

}  // namespace detail

//! y = x, rounded to the nearest where y is narrower: float from Bfloat16 or Float16, and the other
//! way.
//!
//! **Shapes.** x, y: n, in two buffers.
template <class D, class From, class To>
void convert(D& device, index_t n, const From* x, To* y) {
  for_pieces(device, n, 0, block_count(n), detail::ConvertPiece<From, To>{x, y});
}

//! y = x, rounded to what lies at y.
//!
//! **Shapes.** x, y: n, in two buffers.
template <class D>
void convert(D& device, index_t n, const float* x, AnyFloats<void> y) {
  y.read([&]<class T>(T* numbers) {
    if constexpr (std::is_same_v<T, float>) {
      device.copy(numbers, x, n * index_t{sizeof(float)});
    } else {
      convert(device, n, x, numbers);
    }
  });
}

namespace detail {

//! n numbers as T: those at `x` if they are, else converted. One of the two types is float.
template <class T, class D>
class Converted {
 public:
  Converted(D& device, index_t n, AnyFloats<const void> x) {
    x.read([&]<class From>(const From* numbers) {
      if constexpr (std::is_same_v<From, T>) {
        data_ = numbers;
      } else if constexpr (std::is_same_v<From, float> || std::is_same_v<T, float>) {
        made_ = Tensor<T, D>(device, {n});
        convert(device, n, numbers, made_.data());
        data_ = made_.data();
      }
    });
  }

  [[nodiscard]] const T* data() const { return data_; }

 private:
  Tensor<T, D> made_;
  const T* data_ = nullptr;
};

}  // namespace detail

}  // namespace weft::ops
