// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Passes over the contiguous buffers of a model, in fixed blocks of the parameter index.
//!
//! The blocks are the same whoever works on them, so that a sum over blocks has the same bits on
//! one device, on many, and when every rank holds only a shard.
#pragma once

#include <weft/core/chunks.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>

namespace weft::ops {

//! Parameters in a block. Shards and slices of an update are cut at its multiples.
inline constexpr index_t block_size = 4096;

//! How many blocks cover n parameters.
constexpr index_t block_count(index_t n) { return (n + block_size - 1) / block_size; }

//! The blocks in which some parameters lie.
constexpr Range blocks_of(Range parameters) {
  return {parameters.begin / block_size, block_count(parameters.end)};
}

//! What some blocks have of n parameters: the last block may be short.
constexpr Range parameters_of(Range blocks, index_t n) {
  return intersection({blocks.begin * block_size, blocks.end * block_size}, {0, n});
}

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

//! Calls `f(lanes, first, count)` for the pieces of blocks.
template <class F>
struct PieceRow {
  static constexpr bool is_by_element = true;
  static constexpr index_t size = 1024;

  F f;
  index_t begin;  // of the parameters
  index_t end;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t row) const {
    const index_t first = begin + row * size;
    f(lanes, first, end - first < size ? end - first : size);
  }
};

}  // namespace detail

//! Calls `f(lanes, first, count)` for pieces of blocks `begin` to `end` - 1 of n parameters, where
//! each number comes of its own parameter: 1,024, so that each thread of a GPU's block has four,
//! and asks for all that it reads at once.
template <class D, class F>
void for_pieces(D& device, index_t n, index_t begin, index_t end, const F& f) {
  const index_t last = end * block_size < n ? end * block_size : n;
  const detail::PieceRow<F> pieces{f, begin * block_size, last};
  const index_t size = detail::PieceRow<F>::size;
  if (last > pieces.begin)
    device.for_rows((last - pieces.begin + size - 1) / size, 4 * size, pieces);
}

//! Calls `f(lanes, first, count, block)` for blocks `begin` to `end` - 1 of n parameters.
template <class D, class F>
void for_blocks(D& device, index_t n, index_t begin, index_t end, const F& f) {
  device.for_rows(end - begin, 4 * block_size, detail::BlockRow<F>{f, begin, n});
}

}  // namespace weft::ops
