// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention's backward kernels: one finds the gradients of queries, one those of keys and
//! values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <weft/ops/cuda/attention_block.cuh>

namespace weft::ops::detail {

//! This lane's share of the sum over channels of out dout in one row of a head, which is that over
//! keys of p dp. The four lanes that have the row add theirs, outside of any condition.
__device__ inline float row_delta(const CudaHead& head, AnyHeadRows<const void> out,
                                  AnyHeadRows<const void> dout, index_t row) {
  const AnyFloats<const void> a = out.data + (row * out.stride + head.channel());
  const AnyFloats<const void> b = dout.data + (row * dout.stride + head.channel());
  const int lane = static_cast<int>(threadIdx.x % 4), size = static_cast<int>(head.head_size);
  float sum = 0.0f;
#pragma unroll 4
  for (int c = lane; c < size; c += 4) {
    sum += simd::load(a, index_t{c}) * simd::load(b, index_t{c});
  }
  return sum;
}

//! A block has the queries that it has in the forward pass, and finds their gradients, and `deltas`
//! for the other kernel.
template <class Products, int Columns>
__global__ void __launch_bounds__(32 * attention_warps<Products, Columns>,
                                  attention_blocks<Products, Columns, 2>())
    attention_query_gradients(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                              AnyHeadRows<const void> v, AnyHeadRows<const void> out,
                              const float* log_sums, float* deltas, AnyHeadRows<const void> dout,
                              AnyHeadRows<void> dq) {
  if constexpr (!Products::are_compiled) return __trap();
  using Block = CudaQueries<Products, Columns, 2>;
  const Block block(head);
  const BlockRows<Products>& rows = block.rows;
  if (rows.block_is_empty()) return;
  SharedWords shared;
  const auto queries = shared.tile<typename Block::Tile>(rows.block_rows);
  const auto douts = shared.tile<typename Block::Tile>(rows.block_rows);
  const TileSource<Products, Columns> own[] = {{queries, head, q}, {douts, head, dout}};
  load_rows(own, rows.block_rows, block.query_begin, block.query_end);

  index_t seen[2];
  float log_sum[2], delta[2];
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    const index_t row = rows.of_lane(lower);
    const bool is_there = row < rows.count;
    const index_t at = head.place(rows.begin + row);
    seen[lower] = is_there ? block.seen(row) : 0;
    log_sum[lower] = is_there ? log_sums[at] * log2_e : 0.0f;
    delta[lower] = row_sum(is_there ? row_delta(head, out, dout, rows.begin + row) : 0.0f);
    if (is_there && threadIdx.x % 4 == 0) deltas[at] = delta[lower];
  }
  WarpPiece sums[Columns / 8] = {};
  const float kept_scale = block.mask.scale;
  block.for_each_tile(shared, k, v, [&](index_t first, auto keys, auto values, auto keeps) {
    constexpr int R = Block::tile_rows;
    WarpPiece scores[R / 8], dps[R / 8];
    multiply_by_rows<R>(scores, queries, rows.in_block, keys);
    multiply_by_rows<R>(dps, douts, rows.in_block, values);
    if (block.mask.active()) {
      for_each_element(dps, [&](float& dp, int lower, int key) {
        if (!keeps(lower, key)) dp = 0.0f;
      });
    }
    for_each_element(scores, dps, [&](float& score, float dp, int lower, int) {
      const float p = ptx::exp2(score * (head.scale * log2_e) - log_sum[lower]);
      score = p * (dp * kept_scale - delta[lower]);
    });
    const int visible[2] = {rows_below<R>(seen[0], first), rows_below<R>(seen[1], first)};
    if (visible[0] < R || visible[1] < R) {  // few tiles have keys that a query does not see
      for_each_element(scores, [&](float& score, int lower, int key) {
        if (key >= visible[lower]) score = 0.0f;
      });
    }
    add_weighted_rows<R>(sums, scores, keys);
  });
  if (!rows.is_empty()) store_rows(head, rows, sums, dq, [&](int) { return head.scale; });
}

//! Warps that have the same keys. The gradients of keys and of values of the largest heads would
//! not fit into the registers of one warp: one finds the probabilities and from them the gradients
//! of values, the other the gradients of probabilities and from both those of keys.
template <int Columns>
constexpr int key_sharers = Columns > 128 ? 2 : 1;

//! The most warps that divide a block's keys.
template <class Products, int Columns>
constexpr int key_warps = std::min(attention_warps<Products, Columns>, 8 / key_sharers<Columns>);

//! The words in which warps show their sharers the probabilities of a tile.
template <class Products, int Columns>
WEFT_HOST_DEVICE constexpr int shown_words(int block_rows) {
  return key_sharers<Columns> == 1 ? 0 : block_rows * attention_tile<Products, Columns>;
}

//! The words of a block that walks over queries: its own keys and values, `stages` tiles of
//! queries, of the gradients of their results and of two numbers each, and the keys that they keep.
template <class Products, int Columns>
constexpr int key_words(int block_rows, int stages) {
  constexpr int tile = attention_tile<Products, Columns>;
  using Tile = typename Products::template Tile<Columns>;
  return Tile::size(2 * block_rows + 2 * stages * tile) + stages * 2 * tile +
         tile * KeptKeys::bytes_of_query / 4 + shown_words<Products, Columns>(block_rows);
}

//! Tiles of each array: see `query_stages`.
template <class Products, int Columns>
constexpr int key_stages = [] {
  constexpr int rows = key_warps<Products, Columns> * warp_rows;
  return 4 * key_words<Products, Columns>(rows, 2) <= Products::block_bytes ? 2 : 1;
}();

//! Where the warps that divide a block's rows show their lanes' elements: those of each piece lie
//! side by side for a warp.
template <int N>
__device__ float4* shown_place(std::uint32_t* shown, int in_block) {
  return reinterpret_cast<float4*>(shown) + in_block / warp_rows * 32 * N + threadIdx.x % 32;
}

//! Shows a lane's elements to the same lane of the warp that shares its rows.
template <int N>
__device__ void show(std::uint32_t* shown, int in_block, const WarpPiece (&pieces)[N]) {
  float4* const own = shown_place<N>(shown, in_block);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    own[32 * n] = make_float4(pieces[n][0], pieces[n][1], pieces[n][2], pieces[n][3]);
  }
}

//! What was shown by the warp that shares its rows.
template <int N>
__device__ void see(std::uint32_t* shown, int in_block, WarpPiece (&pieces)[N]) {
  const float4* const own = shown_place<N>(shown, in_block);
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const float4 piece = own[32 * n];
    pieces[n][0] = piece.x, pieces[n][1] = piece.y, pieces[n][2] = piece.z, pieces[n][3] = piece.w;
  }
}

//! A block has 16 keys a warp, or for both that share them, and finds their gradients and those of
//! their values from all queries.
template <class Products, int Columns>
__global__ void __launch_bounds__(32 * key_warps<Products, Columns> * key_sharers<Columns>)
    attention_key_gradients(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                            AnyHeadRows<const void> v, const float* log_sums, const float* deltas,
                            AnyHeadRows<const void> dout, AnyHeadRows<void> dk,
                            AnyHeadRows<void> dv) {
  if constexpr (!Products::are_compiled) return __trap();
  constexpr int R = attention_tile<Products, Columns>, sharers = key_sharers<Columns>;
  using Tile = typename Products::template Tile<Columns>;
  const BlockRows<Products> rows(head.key_starts, sharers);
  if (rows.block_is_empty()) return;
  const bool finds_values = sharers == 1 || rows.share == 0, finds_keys = rows.share == sharers - 1;
  SharedWords shared;
  const Tile keys = shared.tile<Tile>(rows.block_rows), values = shared.tile<Tile>(rows.block_rows);
  constexpr int stages = key_stages<Products, Columns>;
  const Tile tiles_of_queries = shared.tile<Tile>(head.stages * R);
  const Tile tiles_of_douts = shared.tile<Tile>(head.stages * R);
  auto* const log_sums_of_tiles = reinterpret_cast<float*>(shared.take(head.stages * R));
  auto* const deltas_of_tiles = reinterpret_cast<float*>(shared.take(head.stages * R));
  const DropoutMask mask = head.mask();
  const float kept_scale = mask.scale;
  std::uint32_t* const shown = shared.take(shown_words<Products, Columns>(rows.block_rows));
  const KeptKeys kept(shared.next);
  const index_t key_begin = rows.begin + rows.block_first, key_end = rows.begin + rows.count;
  const TileSource<Products, Columns> own_rows[] = {{keys, head, k}, {values, head, v}};
  load_rows(own_rows, rows.block_rows, key_begin, key_end);

  const index_t query_begin = head.query_starts[blockIdx.z];
  const index_t query_end = head.query_starts[blockIdx.z + 1];
  const index_t all_queries = query_end - query_begin;
  const int in_group = static_cast<int>(rows.block_first % DropoutMask::group_columns);
  const int lane_key = static_cast<int>(threadIdx.x % 32 / 4);  // of its warp's 16
  // Of both gradients, or of that which this warp finds.
  WarpPiece sums[2 / sharers][Columns / 8] = {};
  auto &dv_sums = sums[0], &dk_sums = sums[2 / sharers - 1];
  // Begins to bring what a tile of queries needs.
  const auto of_stage = [](Tile tiles, int stage) { return tiles.from_row(stage * R); };
  const auto load = [&](index_t tile, int stage) {
    const TileSource<Products, Columns> sources[] = {{of_stage(tiles_of_queries, stage), head, q},
                                                     {of_stage(tiles_of_douts, stage), head, dout}};
    load_rows(sources, R, query_begin + tile, query_end);
    // Few keys have one warp, and fewer threads than a tile has queries.
    for (int i = static_cast<int>(threadIdx.x); i < R; i += static_cast<int>(blockDim.x)) {
      const bool is_there = tile + i < all_queries;
      const index_t at = head.place(query_begin + tile + i);
      log_sums_of_tiles[stage * R + i] = is_there ? log_sums[at] * log2_e : 0.0f;
      deltas_of_tiles[stage * R + i] = is_there ? deltas[at] : 0.0f;
    }
  };
  const index_t first_tile = head.causal ? rows.block_first / R * R : 0;
  int stage = 0;
  if (stages == 2 && first_tile < all_queries) load(first_tile, 0);
  for (index_t tile = first_tile; tile < all_queries; tile += R, stage = stages - 1 - stage) {
    if constexpr (stages == 1) {
      __syncthreads();
      load(tile, 0);
    }
    wait_for_rows<Products>();
    if (stages == 2 && tile + R < all_queries) load(tile + R, 1 - stage);
    if (mask.active()) {
      kept.draw(mask, head.query_keys, query_begin + tile, query_end, R,
                rows.block_first - in_group);
      __syncthreads();
    }
    const bool sees = !rows.is_empty() && !(head.causal && tile + R <= rows.first_together());
    if (sharers == 1 && !sees) continue;

    const Tile queries = of_stage(tiles_of_queries, stage);
    const Tile douts = of_stage(tiles_of_douts, stage);
    const float* const log_sum = log_sums_of_tiles + stage * R;
    const float* const delta = deltas_of_tiles + stage * R;
    WarpPiece ps[R / 8], dps[R / 8];
    if (sees && finds_values) {
      multiply_by_rows<R>(ps, keys, rows.in_block, queries);
      for_each_element(ps, [&](float& p, int, int query) {
        p = ptx::exp2(p * (head.scale * log2_e) - log_sum[query]);
      });
      // The first query of the tile that sees a key, and where they end: few tiles have others.
      const int end = rows_below<R>(all_queries, tile);
      const int begin[2] = {head.causal ? rows_below<R>(rows.of_lane(0), tile) : 0,
                            head.causal ? rows_below<R>(rows.of_lane(1), tile) : 0};
      if (end < R || begin[1] > 0) {
        for_each_element(ps, [&](float& p, int lower, int query) {
          if (query < begin[lower] || query >= end) p = 0.0f;
        });
      }
      if constexpr (sharers > 1) show(shown, rows.in_block, ps);
    }
    if (sees && finds_keys) multiply_by_rows<R>(dps, values, rows.in_block, douts);
    if constexpr (sharers > 1) {
      __syncthreads();
      if (!sees) continue;
      if (finds_keys) see(shown, rows.in_block, ps);
    }
    const auto drop = [&](auto keeps) {
      for_each_element(dps, ps, [&](float& dp, float& p, int lower, int query) {
        const bool is_kept = keeps(lower, query);
        if (finds_keys) dp = p * ((is_kept ? dp * kept_scale : 0.0f) - delta[query]);
        if (!is_kept) p = 0.0f;
      });
    };
    if (mask.active()) {
      drop([&](int lower, int query) {
        return kept.keeps(query, in_group + rows.in_block, lane_key + 8 * lower);
      });
    } else {
      drop([](int, int) { return true; });
    }
    if (finds_values) add_weighted_rows<R>(dv_sums, ps, douts);
    if (finds_keys) add_weighted_rows<R>(dk_sums, dps, queries);
  }
  if (first_tile >= all_queries) {
    ptx::wait_for_copies();  // a block ends with none under way
  }
  if (rows.is_empty()) return;
  if (finds_keys) store_rows(head, rows, dk_sums, dk, [&](int) { return head.scale; });
  if (finds_values) store_rows(head, rows, dv_sums, dv, [&](int) { return kept_scale; });
}

}  // namespace weft::ops::detail
