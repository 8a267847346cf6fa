// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the blocks of attention's kernels share: which rows are whose, the keys that a head
//! drops, the walk over keys, and how much shared memory all take.
#pragma once

#include <algorithm>
#include <cstdint>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda.cuh>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/cuda/attention_tiles.cuh>
#include <weft/ops/cuda/warp_products.cuh>

namespace weft::ops::detail {

inline constexpr int warp_rows = 16;  // queries, or keys, of a warp

//! Rows of the warps that multiply together.
template <class Products>
constexpr int rows_together = (warp_rows * Products::warps);

//! The most warps that divide a block's rows, and the rows of the tiles that all of them walk over:
//! fewer for large heads, so that what a warp has fits into registers, and a block into shared
//! memory.
template <class Products, int Columns>
constexpr int attention_warps = Products::warps == 1 && Columns > 64 ? 4 : 8;
template <class Products, int Columns>
constexpr int attention_tile = Products::warps > 1
                                   ? 64
                                   : (Products::per_word == 2 ? 64 : 32) / (Columns > 64 ? 2 : 1);

inline constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

//! The rows of this block's sequence, and those that are this block's and this warp's, counted from
//! the sequence's first.
template <class Products>
struct BlockRows {
  index_t begin, count;
  int block_rows;
  index_t block_first;
  int share;     // which of the warps that have the same rows this is
  int in_block;  // this warp's first, counted from the block's

  //! `sharers`: how many warps have the same rows.
  __device__ explicit BlockRows(const index_t* starts, int sharers = 1)
      : begin(starts[blockIdx.z]),
        count(starts[blockIdx.z + 1] - begin),
        block_rows(static_cast<int>(blockDim.x) / 32 / sharers * warp_rows),
        block_first(static_cast<index_t>(blockIdx.x) * block_rows),
        share(sharers == 1 ? 0 : static_cast<int>(threadIdx.x) / 32 * warp_rows / block_rows),
        in_block(static_cast<int>(threadIdx.x) / 32 * warp_rows - share * block_rows) {}

  [[nodiscard]] __device__ bool block_is_empty() const { return block_first >= count; }
  //! The first row of the warps that multiply together, which do so if any of them has a row.
  [[nodiscard]] __device__ index_t first_together() const {
    return block_first + in_block / rows_together<Products> * rows_together<Products>;
  }
  [[nodiscard]] __device__ bool is_empty() const { return first_together() >= count; }
  //! This lane's upper or lower row of a result.
  [[nodiscard]] __device__ index_t of_lane(int lower) const {
    return block_first + in_block + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * lower;
  }
};

//! Which of 128 keys queries keep: 16 bytes a query. Bit s of byte i is that of key 16 s + i.
struct KeptKeys {
  std::uint8_t* bytes;

  static constexpr int bytes_of_query = 16;

  __device__ explicit KeptKeys(std::uint32_t* memory)
      : bytes(reinterpret_cast<std::uint8_t*>(memory)) {}

  //! All threads of a block find those of `queries` from row `first` on, below `end`: a call of
  //! Philox is a byte. Of the 128, the first `Keys` are all that matter.
  template <int Keys = DropoutMask::group_columns>
  __device__ void draw(const DropoutMask& mask, const RowKey* keys, index_t first, index_t end,
                       int queries, index_t group) const {
    const int place = static_cast<int>(threadIdx.x) % bytes_of_query;
    const int step = static_cast<int>(blockDim.x) / bytes_of_query;
    const int there = static_cast<int>(end - first < queries ? end - first : queries);
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x) / bytes_of_query; i < there; i += step) {
      bytes[i * bytes_of_query + place] =
          mask.kept<Keys / bytes_of_query>(mask.lane_words(keys[first + i], group, place));
    }
  }

  //! Whether a query keeps a key, `key` behind `first`, a multiple of 16 of the 128: the compiler
  //! sees then that a lane's keys are in few bytes.
  [[nodiscard]] __device__ bool keeps(int query, int first, int key) const {
    const auto place = static_cast<unsigned>(key), turn = static_cast<unsigned>(first) / 16;
    return (bytes[query * bytes_of_query + place % 16] >> turn >> place / 16 & 1) != 0;
  }
};

//! How many of the R rows of a tile lie below `end`, both counted from the sequence's first.
template <int R>
__device__ int rows_below(index_t end, index_t first) {
  return end >= first + R ? R : end > first ? static_cast<int>(end - first) : 0;
}

//! Two neighbours, of which the first lies at a multiple of both.
__device__ inline void store_pair(float* at, float first, float second) {
  *reinterpret_cast<float2*>(at) = make_float2(first, second);
}
template <class Rounded>
__device__ void store_pair(Rounded* at, float first, float second) {
  *reinterpret_cast<std::uint32_t*>(at) = ptx::rounded_pair<Rounded>(first, second);
}

//! Writes this warp's rows as numbers of type T, each times factor(lower).
template <class T, class Products, int Pieces, class Factor>
__device__ void store_numbers(const CudaHead& head, const BlockRows<Products>& rows,
                              WarpPiece (&sums)[Pieces], AnyHeadRows<void> to, Factor factor) {
  const int columns = static_cast<int>(head.head_size);
  T* const begin = to.data.as<T>() + rows.begin * to.stride + head.channel();
  const bool in_pairs = columns % 2 == 0 && to.stride % 2 == 0 &&
                        reinterpret_cast<std::uintptr_t>(begin) % (2 * sizeof(T)) == 0;
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const index_t row = rows.of_lane(lower);
    if (row >= rows.count) continue;
    const float by = factor(lower);
    T* const at = begin + row * to.stride + static_cast<int>(threadIdx.x % 4) * 2;
    if (in_pairs && columns == 8 * Pieces) {  // without a condition for each
#pragma unroll
      for (int n = 0; n < Pieces; ++n) {
        store_pair(at + 8 * n, sums[n][2 * lower] * by, sums[n][2 * lower + 1] * by);
      }
      continue;
    }
    const int there = columns - static_cast<int>(threadIdx.x % 4) * 2;  // from `at` on
#pragma unroll
    for (int n = 0; n < Pieces; ++n) {
      const float x = sums[n][2 * lower] * by, y = sums[n][2 * lower + 1] * by;
      if (in_pairs && 8 * n < there) {
        store_pair(at + 8 * n, x, y);
      } else {
        if (8 * n < there) at[8 * n] = T(x);
        if (8 * n + 1 < there) at[8 * n + 1] = T(y);
      }
    }
  }
}

//! The same as floats, or as what the products round them to.
template <class Products, int Pieces, class Factor>
__device__ void store_rows(const CudaHead& head, const BlockRows<Products>& rows,
                           WarpPiece (&sums)[Pieces], AnyHeadRows<void> to, Factor factor) {
  if constexpr (Products::rounds) {
    using Number = typename Products::Number;
    if (to.data.rounded()) return store_numbers<Number>(head, rows, sums, to, factor);
  }
  store_numbers<float>(head, rows, sums, to, factor);
}

//! The words of a block that walks over keys: its own rows of `Own` arrays, `stages` tiles of keys
//! and of values, and the keys that its queries keep.
template <class Products, int Columns, int Own>
constexpr int query_words(int block_rows, int stages) {
  using Tile = typename Products::template Tile<Columns>;
  return Tile::size(Own * block_rows + 2 * stages * attention_tile<Products, Columns>) +
         block_rows * KeptKeys::bytes_of_query / 4;
}

//! Tiles of each array: two, so that one is loaded while the other is multiplied, where there is
//! room for both in the shared memory that a block is to have at most.
template <class Products, int Columns, int Own>
constexpr int query_stages = [] {
  constexpr int rows = attention_warps<Products, Columns> * warp_rows;
  return 4 * query_words<Products, Columns, Own>(rows, 2) <= Products::block_bytes ? 2 : 1;
}();

//! As many as there is memory for; but where one holds the longest sequence, one: more blocks have
//! room.
template <class Products, int Columns>
int used_stages(int stages, index_t longest) {
  return longest > attention_tile<Products, Columns> ? stages : 1;
}

//! The least blocks that an SM has room for, of kernels that walk over keys: 16 warps, with 128
//! registers a thread, where neither the sums of a large head take more nor a Hopper's shared
//! memory fewer blocks.
template <class Products, int Columns, int Own>
constexpr int attention_blocks() {
  constexpr int warps = attention_warps<Products, Columns>, reserved = 1024;
  constexpr int stages = query_stages<Products, Columns, Own>;
  constexpr int bytes =
      4 * query_words<Products, Columns, Own>(warps * warp_rows, stages) + reserved;
  return std::min((Columns > Products::columns_of_128_registers ? 8 : 16) / warps,
                  228 * 1024 / bytes);
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

//! The queries of a block, `Own` arrays of rows, and the tiles of keys and values that it walks
//! over.
template <class Products, int Columns, int Own>
struct CudaQueries {
  using Tile = typename Products::template Tile<Columns>;
  static constexpr int tile_rows = attention_tile<Products, Columns>;

  const CudaHead& head;
  BlockRows<Products> rows;
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

  //! Calls `f(first, keys, values, keeps)` for each tile of keys, from key `first` of the sequence
  //! on, of which the warps that multiply together see any; `keeps(lower, key)` is whether dropout
  //! keeps it, where the mask is active. All threads of a block walk together.
  template <class F>
  __device__ void for_each_tile(SharedWords shared, AnyHeadRows<const void> k,
                                AnyHeadRows<const void> v, F f) const {
    constexpr int stages = query_stages<Products, Columns, Own>;
    const Tile keys = shared.tile<Tile>(head.stages * tile_rows);
    const Tile values = shared.tile<Tile>(head.stages * tile_rows);
    const KeptKeys kept(shared.next);
    const index_t seen_by_block = seen(rows.block_first + rows.block_rows - 1);
    const index_t last = rows.first_together() + rows_together<Products> - 1;
    const index_t seen_by_warp = rows.is_empty() ? 0 : seen(last);
    const auto of_stage = [](Tile tiles, int stage) { return tiles.from_row(stage * tile_rows); };
    const auto load = [&](index_t first, int stage) {
      const TileSource<Products, Columns> sources[] = {{of_stage(keys, stage), head, k},
                                                       {of_stage(values, stage), head, v}};
      load_rows(sources, tile_rows, key_begin + first, key_end);
    };
    const auto draw = [&](index_t first) {
      kept.draw(mask, head.query_keys, query_begin, query_end, rows.block_rows, first);
    };
    int stage = 0;
    if (stages == 2 && seen_by_block > 0) load(0, 0);
    if (mask.active() && seen_by_block > 0) draw(0);  // while rows are on their way
    for (index_t first = 0; first < seen_by_block; first += tile_rows) {
      if constexpr (stages == 1) {
        __syncthreads();
        load(first, 0);
      }
      wait_for_rows<Products>();
      if (stages == 2 && first + tile_rows < seen_by_block) load(first + tile_rows, 1 - stage);
      const int in_group = static_cast<int>(first % DropoutMask::group_columns);
      if (mask.active() && in_group == 0 && first > 0) {
        draw(first);
        __syncthreads();
      }
      if (first < seen_by_warp) {
        f(first, of_stage(keys, stage), of_stage(values, stage),
          [&](int lower, int key) { return kept.keeps(row_in_block(lower), in_group, key); });
      }
      if (stages == 2) stage = 1 - stage;
    }
    if (seen_by_block == 0) ptx::wait_for_copies();  // a block ends with none under way
  }
};

}  // namespace weft::ops::detail
