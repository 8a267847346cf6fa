// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the blocks of attention's kernels share: a head's rows in tiles, and the keys it
//! drops.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda.cuh>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/cuda/warp_products.cuh>

namespace weft::ops::detail {

inline constexpr int warp_rows = 16;  // queries, or keys, of a warp

//! The most warps of a block, and the rows of the tiles that all of them walk over: fewer for large
//! heads, so that what a warp has fits into registers, and a block into 99 KiB.
template <int Columns>
constexpr int attention_warps = Columns > 128  ? 2
                                : Columns > 64 ? 4
                                               : 8;
template <class Products, int Columns>
constexpr int attention_tile = (Products::per_word == 2 ? 64 : 32) / (Columns > 64 ? 2 : 1);

inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

//! What all passes know of one head of one sequence.
struct CudaHead {
  index_t heads, head_size;
  bool causal;
  float scale;
  DropoutMask dropout;
  const index_t *query_starts, *key_starts;
  const RowKey* query_keys;

  explicit CudaHead(const AttentionProblem<Cuda>& p)
      : heads(p.heads),
        head_size(p.head_size),
        causal(p.causal),
        scale(p.scale),
        dropout(p.dropout),
        query_starts(p.query_layout->starts.data()),
        key_starts(p.key_layout->starts.data()),
        query_keys(p.query_layout->keys.data()) {}

  //! The channel where this block's head begins.
  [[nodiscard]] __device__ index_t channel() const { return blockIdx.y * head_size; }

  [[nodiscard]] __device__ DropoutMask mask() const {
    DropoutMask of_head = dropout;
    of_head.operation += blockIdx.y;
    return of_head;
  }

  //! The place of a query's logarithm of a sum, and of other numbers kept for each row and head.
  [[nodiscard]] __device__ index_t place(index_t row) const { return row * heads + blockIdx.y; }
};

//! The rows of this block's sequence, and those that are this block's and this warp's, counted from
//! the sequence's first.
struct BlockRows {
  index_t begin, count;
  int block_rows;
  index_t block_first;
  int in_block;  // this warp's first, counted from the block's

  //! `shares`: how many blocks have the same rows.
  __device__ explicit BlockRows(const index_t* starts, unsigned shares = 1)
      : begin(starts[blockIdx.z]),
        count(starts[blockIdx.z + 1] - begin),
        block_rows(static_cast<int>(blockDim.x) / 32 * warp_rows),
        block_first(static_cast<index_t>(blockIdx.x / shares) * block_rows),
        in_block(static_cast<int>(threadIdx.x) / 32 * warp_rows) {}

  [[nodiscard]] __device__ bool block_is_empty() const { return block_first >= count; }
  [[nodiscard]] __device__ index_t first() const { return block_first + in_block; }
  [[nodiscard]] __device__ bool warp_is_empty() const { return first() >= count; }
  //! This lane's upper or lower row of a result.
  [[nodiscard]] __device__ index_t of_lane(int lower) const {
    return first() + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * lower;
  }
};

//! The rows of a head, and a tile that is to have some of them.
template <class Products, int Columns>
struct TileSource {
  WarpTile<Products, Columns> tile;
  AnyFloats<const void> data;  // row 0 of the head
  index_t stride, head_size;
  bool whole;  // four numbers may be read at once

  __device__ TileSource(WarpTile<Products, Columns> to, const CudaHead& head,
                        AnyHeadRows<const void> from)
      : tile(to),
        data(from.data + head.channel()),
        stride(from.stride),
        head_size(head.head_size),
        whole(reinterpret_cast<std::uintptr_t>(data.data) % (data.rounded() ? 8 : 16) == 0 &&
              stride % 4 == 0 && head_size % 4 == 0) {}

  //! Four columns of a row, from c on; zeros past the head. `Quad` is what they lie as: float4, or
  //! ushort4.
  template <class Quad>
  [[nodiscard]] __device__ Quad read(index_t row, int c) const {
    using Number = const decltype(Quad::x);
    const index_t left = head_size - c;
    if (left <= 0) return {};
    Number* const at = static_cast<Number*>(data.data) + row * stride + c;
    if (whole) return *reinterpret_cast<const Quad*>(at);
    Quad quad{};
    quad.x = at[0];
    if (left > 1) quad.y = at[1];
    if (left > 2) quad.z = at[2];
    if (left > 3) quad.w = at[3];
    return quad;
  }
};

//! Copies rows `first` to `first` + `rows` - 1 into each tile; zeros from row `end` on. A thread
//! asks for four places of all tiles before it waits for one.
template <class Quad, class Products, int Columns, int N>
__device__ void load_quads(const TileSource<Products, Columns> (&sources)[N], int rows,
                           index_t first, index_t end) {
  constexpr int quads = Columns / 4, at_once = 4;
  const int all = rows * quads, step = static_cast<int>(blockDim.x);
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += at_once * step) {
    Quad x[at_once][N] = {};
#pragma unroll
    for (int turn = 0; turn < at_once; ++turn) {
      const int i = begin + turn * step;
      const index_t row = first + i / quads;
      if (i >= all || row >= end) continue;
#pragma unroll
      for (int n = 0; n < N; ++n) x[turn][n] = sources[n].template read<Quad>(row, i % quads * 4);
    }
#pragma unroll
    for (int turn = 0; turn < at_once; ++turn) {
      const int i = begin + turn * step;
      if (i >= all) continue;
#pragma unroll
      for (int n = 0; n < N; ++n) {
        Products::store(sources[n].tile.row(i / quads), i % quads * 4, x[turn][n]);
      }
    }
  }
}

//! The same of floats, or of what the products round them to.
template <class Products, int Columns, int N>
__device__ void load_rows(const TileSource<Products, Columns> (&sources)[N], int rows,
                          index_t first, index_t end) {
  if constexpr (Products::rounds) {
    if (sources[0].data.rounded()) return load_quads<ushort4>(sources, rows, first, end);
  }
  load_quads<float4>(sources, rows, first, end);
}

//! Which of 128 keys queries keep: 16 bytes a query. Bit s of byte i is that of key 16 s + i.
struct KeptKeys {
  std::uint8_t* bytes;
  float scale;

  static constexpr int bytes_of_query = 16;

  __device__ KeptKeys(std::uint32_t* memory, const DropoutMask& mask)
      : bytes(reinterpret_cast<std::uint8_t*>(memory)), scale(mask.scale) {}

  //! All threads of a block find those of `queries` from row `first` on, below `end`: a call of
  //! Philox is a byte.
  __device__ void draw(const DropoutMask& mask, const RowKey* keys, index_t first, index_t end,
                       int queries, index_t group) const {
    const int all = queries * bytes_of_query;
    for (int i = static_cast<int>(threadIdx.x); i < all; i += static_cast<int>(blockDim.x)) {
      const index_t row = first + i / bytes_of_query;
      if (row >= end) continue;
      bytes[i] = mask.kept(mask.lane_words(keys[row], group, i % bytes_of_query));
    }
  }

  //! 0, or what makes up for those that are dropped. The key is `key` behind `first`, a multiple of
  //! 16 of the 128: the compiler sees then that a lane's keys are in few bytes.
  [[nodiscard]] __device__ float factor(int query, int first, int key) const {
    const auto place = static_cast<unsigned>(key), turn = static_cast<unsigned>(first) / 16;
    return bytes[query * bytes_of_query + place % 16] >> turn >> place / 16 & 1 ? scale : 0.0f;
  }
};

//! How many of the R rows of a tile lie below `end`, both counted from the sequence's first.
template <int R>
__device__ int rows_below(index_t end, index_t first) {
  return end >= first + R ? R : end > first ? static_cast<int>(end - first) : 0;
}

//! Writes this warp's rows as numbers of type T, each times factor(lower), from channel `first` of
//! the head on.
template <class T, int Pieces, class Factor>
__device__ void store_numbers(const CudaHead& head, const BlockRows& rows,
                              WarpPiece (&sums)[Pieces], AnyHeadRows<void> to, Factor factor,
                              int first) {
  for_each_element(sums, [&](float sum, int lower, int column) {
    const int c = first + column;
    const index_t row = rows.of_lane(lower);
    if (row < rows.count && c < head.head_size) {
      T* const at = to.data.as<T>() + (rows.begin + row) * to.stride + head.channel();
      at[c] = T(sum * factor(lower));
    }
  });
}

//! The same as floats, or as what the products round them to.
template <class Products, int Pieces, class Factor>
__device__ void store_rows(const CudaHead& head, const BlockRows& rows, WarpPiece (&sums)[Pieces],
                           AnyHeadRows<void> to, Factor factor, int first = 0) {
  if constexpr (Products::rounds) {
    using Number = typename Products::Number;
    if (to.data.rounded()) return store_numbers<Number>(head, rows, sums, to, factor, first);
  }
  store_numbers<float>(head, rows, sums, to, factor, first);
}

//! Words of shared memory: the block's own rows of `own` arrays, tiles of two others, the keys that
//! `masked` queries keep, and `numbers` floats.
template <class Products, int Columns>
constexpr int attention_words(int block_rows, int own, int masked, int numbers) {
  using Tile = WarpTile<Products, Columns>;
  return Tile::size(own * block_rows + 2 * attention_tile<Products, Columns>) +
         masked * KeptKeys::bytes_of_query / 4 + numbers;
}

//! The least blocks that an SM has room for, of kernels that walk over keys and keep their queries'
//! rows of `Own` arrays: 16 warps, with 128 registers a thread, where neither the sums of a large
//! head take more nor a Hopper's 228 KiB of shared memory fewer blocks.
template <class Products, int Columns, int Own>
constexpr int attention_blocks() {
  constexpr int rows = attention_warps<Columns> * warp_rows, reserved = 1024;
  constexpr int bytes = 4 * attention_words<Products, Columns>(rows, Own, rows, 0) + reserved;
  return std::min((Columns > 128 ? 8 : 16) / attention_warps<Columns>, 228 * 1024 / bytes);
}

//! Takes shared memory from its beginning.
struct SharedWords {
  std::uint32_t* next = ptx::launched_memory();

  __device__ std::uint32_t* take(int words) {
    std::uint32_t* const taken = next;
    next += words;
    return taken;
  }
  template <class Tile>
  __device__ Tile tile(int rows) {
    return {take(Tile::size(rows))};
  }
};

//! The queries of a block, and the tiles of keys and values that it walks over.
template <class Products, int Columns>
struct CudaQueries {
  using Tile = WarpTile<Products, Columns>;
  static constexpr int tile_rows = attention_tile<Products, Columns>;

  const CudaHead& head;
  BlockRows rows;
  index_t query_begin, query_end;  // of the block's, and of the sequence's
  index_t key_begin, key_end;
  DropoutMask mask;

  __device__ explicit CudaQueries(const CudaHead& problem)
      : head(problem),
        rows(problem.query_starts),
        query_begin(rows.begin + rows.block_first),
        query_end(rows.begin + rows.count),
        key_begin(problem.key_starts[blockIdx.z]),
        key_end(problem.key_starts[blockIdx.z + 1]),
        mask(problem.mask()) {}

  //! How many keys a query sees.
  [[nodiscard]] __device__ index_t seen(index_t query) const {
    const index_t keys = key_end - key_begin;
    return head.causal && query + 1 < keys ? query + 1 : keys;
  }

  //! Which of its warp's rows a lane's element is in, counted from the block's first.
  [[nodiscard]] __device__ int row_in_block(int lower) const {
    return static_cast<int>(rows.of_lane(lower) - rows.block_first);
  }

  //! Calls `f(first, keys, values, factor)` for each tile of keys, from key `first` of the sequence
  //! on, of which this warp sees any; `factor(lower, key)` is that of dropout, where the mask is
  //! active. All threads of a block walk together.
  template <class F>
  __device__ void for_each_tile(SharedWords shared, AnyHeadRows<const void> k,
                                AnyHeadRows<const void> v, F f) const {
    const Tile keys = shared.tile<Tile>(tile_rows), values = shared.tile<Tile>(tile_rows);
    const TileSource<Products, Columns> sources[] = {{keys, head, k}, {values, head, v}};
    const KeptKeys kept(shared.next, mask);
    const index_t seen_by_block = seen(rows.block_first + rows.block_rows - 1);
    const index_t seen_by_warp = rows.warp_is_empty() ? 0 : seen(rows.first() + warp_rows - 1);
    for (index_t first = 0; first < seen_by_block; first += tile_rows) {
      __syncthreads();
      load_rows(sources, tile_rows, key_begin + first, key_end);
      const int in_group = static_cast<int>(first % DropoutMask::group_columns);
      if (mask.active() && in_group == 0) {
        kept.draw(mask, head.query_keys, query_begin, query_end, rows.block_rows, first);
      }
      __syncthreads();
      if (first >= seen_by_warp) continue;
      f(first, keys, values,
        [&](int lower, int key) { return kept.factor(row_in_block(lower), in_group, key); });
    }
  }
};

}  // namespace weft::ops::detail
