// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention's kernels for short sequences: a block has all queries and keys of a head.
//!
//! Most sentences are short. Then there is nothing to walk over, and the backward pass reads rows
//! once and finds scores, masks and probabilities once, where the two kernels of
//! `attention_backward.cuh` do so twice.
#pragma once

#include <cstdint>

#include <weft/ops/cuda/attention_forward.cuh>

namespace weft::ops::detail {

//! The most queries and keys of a short sequence.
inline constexpr int short_rows = 64;

//! The words of a block of up to R keys: see `ShortSequence`. One that finds gradients has two rows
//! of each query, and shows what its keys weigh and the gradients of their scores.
template <class Products, int Columns, int R, int Own>
constexpr int short_words(int block_rows) {
  return Products::template Tile<Columns>::size(2 * R + Own * block_rows) +
         block_rows * KeptKeys::bytes_of_query / 4 +
         (Own == 1 ? 0 : Products::template Tile<R>::size(2 * block_rows));
}

//! All queries of a sequence, `Own` arrays of rows, 16 queries a warp; its keys, at most R and 16 a
//! warp; and their values.
template <class Products, int Columns, int R, int Own>
struct ShortSequence : CudaQueries<Products, Columns, Own> {
  using Queries = CudaQueries<Products, Columns, Own>;
  using Tile = typename Queries::Tile;

  SharedWords shared;
  Tile keys, values;
  Tile own[Own];
  KeptKeys kept;

  //! Begins to bring rows, and finds which keys are kept meanwhile.
  template <class... Rows>
  __device__ ShortSequence(const CudaHead& head, AnyHeadRows<const void> k,
                           AnyHeadRows<const void> v, Rows... of_queries)
      : Queries(head),
        keys(shared.tile<Tile>(R)),
        values(shared.tile<Tile>(R)),
        own{next_tile(of_queries)...},
        kept(shared.take(this->rows.block_rows * KeptKeys::bytes_of_query / 4)) {
    const Tile* next = own;
    const TileSource<Products, Columns> query_rows[] = {{*next++, head, of_queries}...};
    const TileSource<Products, Columns> key_rows[] = {{keys, head, k}, {values, head, v}};
    load_rows(query_rows, this->rows.block_rows, this->query_begin, this->query_end);
    load_rows(key_rows, R, this->key_begin, this->key_end);
    if (this->mask.active()) {
      kept.draw<R>(this->mask, head.query_keys, this->query_begin, this->query_end,
                   this->rows.block_rows, 0);
    }
  }

  //! How many keys a lane's query sees.
  [[nodiscard]] __device__ int visible(int lower) const {
    const index_t row = this->rows.of_lane(lower);
    return row < this->rows.count ? static_cast<int>(this->seen(row)) : 0;
  }

  //! Whether dropout keeps a key of a lane's query.
  [[nodiscard]] __device__ bool keeps(int lower, int key) const {
    return kept.keeps(this->row_in_block(lower), 0, key);
  }

 private:
  __device__ Tile next_tile(const AnyHeadRows<const void>&) {
    return shared.tile<Tile>(this->rows.block_rows);
  }
};

//! The most threads of a block.
inline constexpr int short_threads = short_rows / warp_rows * 32;

//! A warp finds the results of 16 queries.
template <class Products, int Columns, int R>
__global__ void __launch_bounds__(short_threads)
    attention_short_kernel(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                           AnyHeadRows<const void> v, AnyHeadRows<void> out, float* log_sums) {
  // Keys that nobody asks for are the room of a search's cache, which nothing was written to.
  if (BlockRows<Products>(head.query_starts).block_is_empty()) return;
  const ShortSequence<Products, Columns, R, 1> block(head, k, v, q);
  const BlockRows<Products>& rows = block.rows;
  wait_for_rows<Products>();
  if (rows.is_empty()) return;
  const int visible[2] = {block.visible(0), block.visible(1)};
  const float scale = head.scale * log2_e;
  float largest[2] = {weft::detail::minus_infinity, weft::detail::minus_infinity};
  float total[2] = {};
  WarpPiece ps[R / 8], sums[Columns / 8] = {};
  multiply_by_rows<R>(ps, block.own[0], rows.in_block, block.keys);
  for_each_element(ps, [&](float& score, int lower, int key) {
    if (key >= visible[lower]) score = weft::detail::minus_infinity;
    largest[lower] = fmaxf(largest[lower], score);
  });
  for (float& of_row : largest) of_row = row_max(of_row);
  const float base[2] = {base_of(largest[0] * scale), base_of(largest[1] * scale)};
  for_each_element(ps, [&](float& p, int lower, int) {
    p = ptx::exp2(p * scale - base[lower]);
    total[lower] += p;
  });
  if (block.mask.active()) {
    for_each_element(ps, [&](float& p, int lower, int key) {
      if (!block.keeps(lower, key)) p = 0.0f;
    });
  }
  add_weighted_rows<R>(sums, ps, block.values);
  const bool blind[2] = {visible[0] == 0, visible[1] == 0};
  store_attention(head, rows, sums, base, total, blind, block.mask.scale, out, log_sums);
}

//! Rounds a warp's result to 16 rows of a tile, from `first` on.
template <class Products, int Columns>
__device__ void show_rows(WarpTile<Products, Columns> tile, int first,
                          const WarpPiece (&pieces)[Columns / 8]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    std::uint32_t* const row = tile.row(first + lane / 4 + 8 * lower) + lane % 4;
#pragma unroll
    for (int n = 0; n < Columns / 8; ++n) {
      row[4 * n] = Products::word({pieces[n][2 * lower], pieces[n][2 * lower + 1]});
    }
  }
}

//! sums (16, Columns) = weights' b, where weights' are columns `first` to `first` + 15 of a tile,
//! and of both factors the first `rows` rows count.
template <class Products, int R, int Columns>
__device__ void multiply_columns(WarpPiece (&sums)[Columns / 8], WarpTile<Products, R> weights,
                                 int first, WarpTile<Products, Columns> b, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // `mma` wants rows 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of columns g and g + 8 of the weights.
  const std::uint32_t* const left_row =
      weights.row(lane / 16 * 8 + lane % 8) + first / 2 + lane / 8 % 2 * 4;
  clear(sums);
#pragma unroll 2
  for (int step = 0; step * Products::terms < rows; ++step) {
    std::uint32_t words[4];
    ptx::load_transposed(words, left_row + weights.size(step * Products::terms));
    const auto left = Products::left(words);
#pragma unroll
    for (int n = 0; n < Columns / 8; n += 2) {
      Products::template multiply_rows<2>(&sums[n], left, b, step, n * 8);
    }
  }
}

//! A warp finds the gradients of 16 queries, and when all have done so those of 16 keys and values.
template <class Products, int Columns, int R>
__global__ void __launch_bounds__(short_threads)
    attention_short_gradients(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                              AnyHeadRows<const void> v, const float* log_sums,
                              AnyHeadRows<const void> dout, AnyHeadRows<void> dq,
                              AnyHeadRows<void> dk, AnyHeadRows<void> dv) {
  ShortSequence<Products, Columns, R, 2> block(head, k, v, q, dout);
  const BlockRows<Products>& rows = block.rows;
  const auto &queries = block.own[0], &douts = block.own[1];
  using Shown = typename Products::template Tile<R>;
  const Shown shown_ps = block.shared.template tile<Shown>(rows.block_rows);
  const Shown shown_ds = block.shared.template tile<Shown>(rows.block_rows);
  WarpPiece sums[Columns / 8] = {};
  int visible[2];
  float log_sum[2], delta[2] = {};
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    visible[lower] = block.visible(lower);
    const index_t at = head.place(block.query_begin + rows.of_lane(lower));
    log_sum[lower] = visible[lower] > 0 ? log_sums[at] * log2_e : 0.0f;
  }
  wait_for_rows<Products>();
  if (!rows.is_empty()) {
    WarpPiece ps[R / 8], ds[R / 8];
    multiply_by_rows<R>(ps, queries, rows.in_block, block.keys);
    multiply_by_rows<R>(ds, douts, rows.in_block, block.values);
    for_each_element(ps, [&](float& p, int lower, int key) {
      p = key < visible[lower] ? ptx::exp2(p * (head.scale * log2_e) - log_sum[lower]) : 0.0f;
    });
    // `delta`: the sum over keys of p dp, which is that over channels of out dout.
    const auto drop = [&](auto keeps) {
      WarpPiece weights[R / 8];
#pragma unroll
      for (int n = 0; n < R / 8; ++n) {
        for (int i = 0; i < 4; ++i) weights[n][i] = ps[n][i];
      }
      for_each_element(weights, ds, [&](float& weight, float& dp, int lower, int key) {
        const bool is_kept = keeps(lower, key);
        dp = is_kept ? dp * block.mask.scale : 0.0f;
        delta[lower] += weight * dp;
        if (!is_kept) weight = 0.0f;
      });
      show_rows(shown_ps, rows.in_block, weights);
    };
    if (block.mask.active()) {
      drop([&](int lower, int key) { return block.keeps(lower, key); });
    } else {
      drop([](int, int) { return true; });
    }
    for (float& of_row : delta) of_row = row_sum(of_row);
    for_each_element(ds, ps,
                     [&](float& d, float p, int lower, int) { d = p * (d - delta[lower]); });
    show_rows(shown_ds, rows.in_block, ds);
    add_weighted_rows<R>(sums, ds, block.keys);
    store_rows(head, rows, sums, dq, [&](int) { return head.scale; });
  }
  __syncthreads();
  const BlockRows<Products> keys(head.key_starts);
  if (keys.is_empty()) return;
  const int count = static_cast<int>(rows.count);
  multiply_columns(sums, shown_ps, keys.in_block, douts, count);
  store_rows(head, keys, sums, dv, [&](int) { return block.mask.scale; });
  multiply_columns(sums, shown_ds, keys.in_block, queries, count);
  store_rows(head, keys, sums, dk, [&](int) { return head.scale; });
}

}  // namespace weft::ops::detail
