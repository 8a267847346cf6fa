// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums of gradient buffers, and the norm of a gradient.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/blocks.hpp>

namespace weft::ops {

namespace detail {

struct AddBlock {
  const float* x;
  float* y;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    lanes.for_each(count, [&](auto c) {
      simd::store(y + first, c, simd::load(y + first, c) + simd::load(x + first, c));
    });
  }
};

struct SquareBlock {
  const float* x;
  double* sums;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count,
                                   index_t block) const {
    sums[block] = lanes.sum(count, [&](auto c) {
      const auto value = simd::load(x + first, c);
      return value * value;
    });
  }
};

}  // namespace detail

//! y += x over blocks `begin` to `end` - 1 of n elements.
template <class D>
void add_blocks(D& device, index_t n, index_t begin, index_t end, const float* x, float* y) {
  for_blocks(device, n, begin, end, detail::AddBlock{x, y});
}

//! sums[block] = sum of x[i]^2 over the block, for blocks `begin` to `end` - 1 of n elements.
//!
//! Sums in float inside a block and leaves the blocks to be added in double, in ascending order:
//! the norm is then the same under every strategy, and not finite if an element is not.
template <class D>
void sum_of_squares(D& device, index_t n, index_t begin, index_t end, const float* x,
                    double* sums) {
  for_blocks(device, n, begin, end, detail::SquareBlock{x, sums});
}

}  // namespace weft::ops
