// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention's backward kernels: one finds the gradients of queries, one those of keys and
//! values.
#pragma once

#include <cmath>

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
__global__ void __launch_bounds__(32 * attention_warps<Columns>,
                                  attention_blocks<Products, Columns, 2>())
    attention_query_gradients(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                              AnyHeadRows<const void> v, AnyHeadRows<const void> out,
                              const float* log_sums, float* deltas, AnyHeadRows<const void> dout,
                              AnyHeadRows<void> dq) {
  using Block = CudaQueries<Products, Columns, 2>;
  const Block block(head);
  const BlockRows& rows = block.rows;
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
  if (!rows.warp_is_empty()) {
    store_rows<Products>(head, rows, sums, dq, [&](int) { return head.scale; });
  }
}

//! How many columns of both gradients of keys and values a warp finds: those of the largest heads
//! would not fit into its registers.
template <int Columns>
constexpr int key_gradient_columns = Columns < 128 ? Columns : 128;

//! Warps that have the same keys: each finds the scores of its share of a tile's queries, and its
//! columns of the gradients from all of them.
template <int Columns>
constexpr int key_sharers = Columns / key_gradient_columns<Columns>;

//! The words in which sharers show each other the scores of a tile and their gradients: none if
//! there is one.
template <class Products, int Columns>
WEFT_HOST_DEVICE constexpr int shown_words(int block_rows) {
  return key_sharers<Columns> == 1 ? 0 : 2 * block_rows * attention_tile<Products, Columns>;
}

//! The words of a block that walks over queries.
template <class Products, int Columns>
constexpr int key_words(int block_rows, int stages) {
  constexpr int tile = attention_tile<Products, Columns>;
  return WarpTile<Products, Columns>::size(2 * block_rows + 2 * stages * tile) + stages * 2 * tile +
         tile * KeptKeys::bytes_of_query / 4 + shown_words<Products, Columns>(block_rows);
}

//! Shows a lane's elements of two results to the same lane of the warps that share its rows: those
//! of each piece lie side by side for a warp, those of the first result before the second's.
template <int N>
__device__ void show(float4* shown, const WarpPiece (&a)[N], const WarpPiece (&b)[N]) {
  float4* const own = shown + static_cast<int>(threadIdx.x) / 32 * 64 * N + threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    own[32 * n] = make_float4(a[n][0], a[n][1], a[n][2], a[n][3]);
    own[32 * (N + n)] = make_float4(b[n][0], b[n][1], b[n][2], b[n][3]);
  }
}

//! What the sharers of its rows have shown of the first result or of the second, in their order.
template <int Sharers, int Result, int All>
__device__ void see(const float4* shown, WarpPiece (&all)[All]) {
  constexpr int N = All / Sharers;
  const int first_warp = static_cast<int>(threadIdx.x) / 32 / Sharers * Sharers;
#pragma unroll
  for (int n = 0; n < All; ++n) {
    const int place = (first_warp + n / N) * 2 * N + Result * N + n % N;
    const float4 piece = shown[32 * place + threadIdx.x % 32];
    all[n][0] = piece.x, all[n][1] = piece.y, all[n][2] = piece.z, all[n][3] = piece.w;
  }
}

//! A block has 16 keys a warp, or for all that share them, and finds their gradients and those of
//! their values from all queries.
template <class Products, int Columns>
__global__ void __launch_bounds__(32 * attention_warps<Columns> * key_sharers<Columns>)
    attention_key_gradients(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                            AnyHeadRows<const void> v, const float* log_sums, const float* deltas,
                            AnyHeadRows<const void> dout, AnyHeadRows<void> dk,
                            AnyHeadRows<void> dv) {
  constexpr int R = attention_tile<Products, Columns>;
  using Tile = WarpTile<Products, Columns>;
  constexpr int own = key_gradient_columns<Columns>, sharers = key_sharers<Columns>;
  constexpr int S = R / sharers;  // queries of a tile whose scores this warp finds
  const int share = static_cast<int>(threadIdx.x) / 32 % sharers;
  const int first_column = share * own, first_query = share * S;
  const BlockRows rows(head.key_starts, sharers);
  if (rows.block_is_empty()) return;
  SharedWords shared;
  const Tile keys = shared.tile<Tile>(rows.block_rows), values = shared.tile<Tile>(rows.block_rows);
  constexpr int stages = attention_stages<Products, Columns, 2>;
  const Tile tiles_of_queries = shared.tile<Tile>(head.stages * R);
  const Tile tiles_of_douts = shared.tile<Tile>(head.stages * R);
  auto* const log_sums_of_tiles = reinterpret_cast<float*>(shared.take(head.stages * R));
  auto* const deltas_of_tiles = reinterpret_cast<float*>(shared.take(head.stages * R));
  const DropoutMask mask = head.mask();
  const float kept_scale = mask.scale;
  auto* const shown =
      reinterpret_cast<float4*>(shared.take(shown_words<Products, Columns>(rows.block_rows)));
  const KeptKeys kept(shared.next);
  const index_t key_begin = rows.begin + rows.block_first, key_end = rows.begin + rows.count;
  const TileSource<Products, Columns> own_rows[] = {{keys, head, k}, {values, head, v}};
  load_rows(own_rows, rows.block_rows, key_begin, key_end);

  const index_t query_begin = head.query_starts[blockIdx.z];
  const index_t query_end = head.query_starts[blockIdx.z + 1];
  const index_t all_queries = query_end - query_begin;
  const int in_group = static_cast<int>(rows.block_first % DropoutMask::group_columns);
  const int lane_key = static_cast<int>(threadIdx.x % 32 / 4);  // of its warp's 16
  WarpPiece dk_sums[own / 8] = {}, dv_sums[own / 8] = {};
  // Begins to bring what a tile of queries needs.
  const auto of_stage = [](Tile tiles, int stage) { return Tile{tiles.row(stage * R)}; };
  const auto load = [&](index_t tile, int stage) {
    const TileSource<Products, Columns> sources[] = {{of_stage(tiles_of_queries, stage), head, q},
                                                     {of_stage(tiles_of_douts, stage), head, dout}};
    load_rows(sources, R, query_begin + tile, query_end);
    // Few keys have one warp, and fewer threads than a tile has queries.
    for (int i = static_cast<int>(threadIdx.x); i < R; i += static_cast<int>(blockDim.x)) {
      if (tile + i >= all_queries) break;
      const index_t at = head.place(query_begin + tile + i);
      log_sums_of_tiles[stage * R + i] = log_sums[at] * log2_e;
      deltas_of_tiles[stage * R + i] = deltas[at];
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
    wait_for_rows();
    if (stages == 2 && tile + R < all_queries) load(tile + R, 1 - stage);
    if (mask.active()) {
      kept.draw(mask, head.query_keys, query_begin + tile, query_end, R,
                rows.block_first - in_group);
      __syncthreads();
    }
    const bool sees = !rows.warp_is_empty() && !(head.causal && tile + R <= rows.first());
    if (sharers == 1 && !sees) continue;

    const Tile queries = of_stage(tiles_of_queries, stage);
    const Tile douts = of_stage(tiles_of_douts, stage);
    const float* const log_sum = log_sums_of_tiles + stage * R + first_query;
    const float* const delta = deltas_of_tiles + stage * R + first_query;
    WarpPiece scores[S / 8], dscores[S / 8];
    if (sees) {
      multiply_by_rows<S>(scores, keys, rows.in_block, Tile{queries.row(first_query)});
      multiply_by_rows<S>(dscores, values, rows.in_block, Tile{douts.row(first_query)});
      for_each_element(scores, [&](float& score, int, int query) {
        score = ptx::exp2(score * (head.scale * log2_e) - log_sum[query]);
      });
      if (mask.active()) {
        const int group_key = in_group + rows.in_block;
        for_each_element(scores, dscores, [&](float& p, float& dp, int lower, int query) {
          const bool keeps = kept.keeps(first_query + query, group_key, lane_key + 8 * lower);
          dp = p * ((keeps ? dp * kept_scale : 0.0f) - delta[query]);
          if (!keeps) p = 0.0f;
        });
      } else {
        for_each_element(scores, dscores,
                         [&](float p, float& dp, int, int query) { dp = p * (dp - delta[query]); });
      }
      // The first query of the tile that sees a key, and where they end: few tiles have others.
      const index_t first = tile + first_query;
      const int end = rows_below<S>(all_queries, first);
      const int begin[2] = {head.causal ? rows_below<S>(rows.of_lane(0), first) : 0,
                            head.causal ? rows_below<S>(rows.of_lane(1), first) : 0};
      if (end < S || begin[1] > 0) {
        for_each_element(scores, dscores, [&](float& score, float& dscore, int lower, int query) {
          if (query < begin[lower] || query >= end) score = dscore = 0.0f;
        });
      }
    }
    if constexpr (sharers == 1) {
      add_weighted_rows<R>(dv_sums, scores, douts);
      add_weighted_rows<R>(dk_sums, dscores, queries);
    } else {
      if (sees) show(shown, scores, dscores);
      __syncthreads();
      if (!sees) continue;
      WarpPiece all[R / 8];
      see<sharers, 0>(shown, all);
      add_weighted_rows<R>(dv_sums, all, douts, first_column);
      see<sharers, 1>(shown, all);
      add_weighted_rows<R>(dk_sums, all, queries, first_column);
    }
  }
  if (first_tile >= all_queries) {
    ptx::wait_for_copies();  // a block ends with none under way
  }
  if (rows.warp_is_empty()) return;
  const auto by_scale = [&](int) { return head.scale; };
  const auto by_kept_scale = [&](int) { return kept_scale; };
  store_rows<Products>(head, rows, dk_sums, dk, by_scale, first_column);
  store_rows<Products>(head, rows, dv_sums, dv, by_kept_scale, first_column);
}

}  // namespace weft::ops::detail
