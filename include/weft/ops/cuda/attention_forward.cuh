// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention's forward kernel: running sums of exponentials, a tile of keys after the other.
#pragma once

#include <cmath>

#include <weft/ops/cuda/attention_block.cuh>

namespace weft::ops::detail {

//! What is taken off a row's exponents: the largest, or nothing where all are minus infinity.
__device__ inline float base_of(float largest) {
  return largest == weft::detail::minus_infinity ? 0.0f : largest;
}

//! Writes what the queries of a warp found: `sums` over `total` of each row, and the logarithms of
//! sums of exponentials, from whose exponents `base` was taken off. `total`: this lane's share.
//! `blind`: whether a query sees no key.
template <class Products, int Pieces>
__device__ void store_attention(const CudaHead& head, const BlockRows<Products>& rows,
                                WarpPiece (&sums)[Pieces], const float (&base)[2],
                                float (&total)[2], const bool (&blind)[2], float kept_scale,
                                AnyHeadRows<void> out, float* log_sums) {
#pragma unroll
  for (int lower = 0; lower < 2; ++lower) {
    total[lower] = row_sum(total[lower]);
    const index_t row = rows.of_lane(lower);
    if (row < rows.count && threadIdx.x % 4 == 0) {
      log_sums[head.place(rows.begin + row)] =
          blind[lower] ? 0.0f : (base[lower] + log2f(total[lower])) * ln_2;
    }
    total[lower] = blind[lower] ? 0.0f : kept_scale / total[lower];
  }
  store_rows(head, rows, sums, out, [&](int lower) { return total[lower]; });
}

//! A block has 16 queries a warp of one head of one sequence, and walks over its keys.
template <class Products, int Columns>
__global__ void __launch_bounds__(32 * attention_warps<Products, Columns>,
                                  attention_blocks<Products, Columns, 1>())
    attention_kernel(CudaHead head, AnyHeadRows<const void> q, AnyHeadRows<const void> k,
                     AnyHeadRows<const void> v, AnyHeadRows<void> out, float* log_sums) {
  if constexpr (!Products::are_compiled) return __trap();
  using Block = CudaQueries<Products, Columns, 1>;
  const Block block(head);
  const BlockRows<Products>& rows = block.rows;
  if (rows.block_is_empty()) return;
  SharedWords shared;
  const auto queries = shared.tile<typename Block::Tile>(rows.block_rows);
  const TileSource<Products, Columns> own[] = {{queries, head, q}};
  load_rows(own, rows.block_rows, block.query_begin, block.query_end);

  const float scale = head.scale * log2_e;
  const index_t seen[2] = {block.seen(rows.of_lane(0)), block.seen(rows.of_lane(1))};
  // Of this lane's two rows: the largest score yet, before it is scaled, and its share of the sum
  // of exponentials.
  float largest[2] = {weft::detail::minus_infinity, weft::detail::minus_infinity};
  float total[2] = {};
  WarpPiece sums[Columns / 8] = {};
  block.for_each_tile(shared, k, v, [&](index_t first, auto keys, auto values, auto keeps) {
    constexpr int R = Block::tile_rows;
    WarpPiece scores[R / 8];
    multiply_by_rows<R>(scores, queries, rows.in_block, keys);
    float now[2] = {largest[0], largest[1]};
    const int visible[2] = {rows_below<R>(seen[0], first), rows_below<R>(seen[1], first)};
    if (visible[0] < R || visible[1] < R) {  // few tiles have keys that a query does not see
      for_each_element(scores, [&](float& score, int lower, int key) {
        if (key >= visible[lower]) score = weft::detail::minus_infinity;
      });
    }
    for_each_element(scores,
                     [&](float score, int lower, int) { now[lower] = fmaxf(now[lower], score); });
    float base[2], rescale[2];
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      now[lower] = row_max(now[lower]);
      // Rounded alike each time: a product that is fused with the difference would make a factor of
      // almost 1 where the largest score has not changed, for every tile.
      base[lower] = base_of(__fmul_rn(now[lower], scale));
      rescale[lower] = ptx::exp2(__fmul_rn(largest[lower], scale) - base[lower]);
      largest[lower] = now[lower];
    }
    float of_tile[2] = {};  // added up apart, as a tile's weighted rows are (see FloatProducts)
    for_each_element(scores, [&](float& score, int lower, int) {
      score = ptx::exp2(score * scale - base[lower]);
      of_tile[lower] += score;
    });
#pragma unroll
    for (int lower = 0; lower < 2; ++lower) {
      total[lower] = total[lower] * rescale[lower] + of_tile[lower];
    }
    if (block.mask.active()) {
      for_each_element(scores, [&](float& p, int lower, int key) {
        if (!keeps(lower, key)) p = 0.0f;
      });
    }
    for_each_element(sums, [&](float& sum, int lower, int) { sum *= rescale[lower]; });
    add_weighted_rows<R>(sums, scores, values);
  });

  if (rows.is_empty()) return;
  const float base[2] = {__fmul_rn(largest[0], scale), __fmul_rn(largest[1], scale)};
  const bool blind[2] = {seen[0] == 0, seen[1] == 0};  // of a sequence without keys
  store_attention(head, rows, sums, base, total, blind, block.mask.scale, out, log_sums);
}

}  // namespace weft::ops::detail
