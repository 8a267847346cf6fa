// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers of one type from those of another.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>
#include <weft/ops/blocks.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops {

namespace detail {

template <class From, class To>
struct ConvertBlock {
  const From* x;
  To* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    lanes.write(count, y + first, [&](auto c) { return simd::load(x + first, c); });
  }
};

}  // namespace detail

//! y = x, rounded to the nearest where y is narrower: float from Bfloat16
//! or Float16, and the other way.
//!
//! **Shapes.** x, y: n, in two buffers.
template <class D, class From, class To>
void convert(D& device, index_t n, const From* x, To* y) {
  for_blocks(device, n, 0, block_count(n), detail::ConvertBlock<From, To>{x, y});
}

namespace detail {

//! n numbers as T: those at `there`, or, where that is null, those at `x`, converted.
template <class T, class D>
class Converted {
 public:
  template <class From>
  Converted(D& device, index_t n, const From* x, const void* there)
      : data_(static_cast<const T*>(there)) {
    if (data_ != nullptr) return;
    made_ = Tensor<T, D>(device, {n});
    convert(device, n, x, made_.data());
    data_ = made_.data();
  }

  [[nodiscard]] const T* data() const { return data_; }

 private:
  Tensor<T, D> made_;
  const T* data_;
};

}  // namespace detail

}  // namespace weft::ops
