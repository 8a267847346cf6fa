// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Passes over the contiguous buffers of a model, in fixed blocks of the parameter index.
//!
//! The blocks are the same whoever works on them, so that a sum over blocks has the same bits on
//! one device, on many, and when every rank holds only a shard.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>

namespace weft::ops {

//! Parameters in a block. Shards and slices of an update are cut at its multiples.
inline constexpr index_t block_size = 4096;

//! How many blocks cover n parameters.
constexpr index_t block_count(index_t n) { return (n + block_size - 1) / block_size; }

namespace detail {

//! Calls `f(lanes, first, count, block)` for blocks `begin` to `end` - 1 of n parameters.
template <class F>
struct BlockRow {
  F f;
  index_t begin;
  index_t n;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t row) const {
    const index_t block = begin + row;
    const index_t first = block * block_size;
    f(lanes, first, n - first < block_size ? n - first : block_size, block);
  }
};

}  // namespace detail

//! Calls `f(lanes, first, count, block)` for blocks `begin` to `end` - 1 of n parameters.
template <class D, class F>
void for_blocks(D& device, index_t n, index_t begin, index_t end, const F& f) {
  device.for_rows(end - begin, 4 * block_size, detail::BlockRow<F>{f, begin, n});
}

}  // namespace weft::ops
