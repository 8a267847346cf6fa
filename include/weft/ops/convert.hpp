// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers of one type from those of another.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>
#include <weft/ops/blocks.hpp>

namespace weft::ops {

namespace detail {

template <class From, class To>
struct ConvertBlock {
  const From* x;
  To* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    lanes.for_each(count, [&](auto c) { simd::store(y + first, c, simd::load(x + first, c)); });
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

}  // namespace weft::ops
