// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention on a GPU: products by tensor cores, of tiles in shared memory, 16 rows a warp.
//!
//! Scores are never written to memory: the forward pass keeps running sums of exponentials, the
//! backward pass computes the probabilities twice, once a query for dq and once a key for dk and
//! dv; of short sequences once. Nothing is added from two places, so every sum has a fixed order.
//!
//! **Source.** Dao: FlashAttention-2 (2023).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <weft/device/cuda.cuh>
#include <weft/ops/attention.hpp>
#include <weft/ops/cuda/attention_backward.cuh>
#include <weft/ops/cuda/attention_forward.cuh>
#include <weft/ops/cuda/attention_short.cuh>
#include <weft/ops/cuda/library_attention.cuh>
#include <weft/ops/cuda/warpgroup_products.cuh>

namespace weft::ops::detail {

//! Calls `f(products, columns)` with the number of columns that a head takes, as a constant: 16,
//! 32, 64, 128 or 256, and 8 where the products add up so many terms.
template <class Products, index_t N, class F>
void with_head_columns(Products products, HeadSize<N>, index_t, const F& f) {
  static_assert(N <= 256,
                "attention on a GPU takes heads of up to 256 channels: choose more heads");
  constexpr int columns = static_cast<int>(std::bit_ceil(static_cast<unsigned>(N)));
  f(products, std::integral_constant<int, std::max(columns, Products::least_columns)>());
}

//! The same for a head size that is known now.
//!
//! **Errors.** ShapeError if it is too large.
template <class Products, class F>
void with_head_columns(Products products, AnyHeadSize, index_t head_size, const F& f) {
  const auto takes = [&]<int columns>(std::integral_constant<int, columns> constant) {
    if constexpr (columns >= Products::least_columns) {
      if (head_size > columns) return false;
      f(products, constant);
      return true;
    }
    return false;
  };
  const bool taken =
      takes(std::integral_constant<int, 16>()) || takes(std::integral_constant<int, 32>()) ||
      takes(std::integral_constant<int, 64>()) || takes(std::integral_constant<int, 128>()) ||
      takes(std::integral_constant<int, 256>());
  if (taken) return;
  throw ShapeError(text("attention: a head of ", head_size, " channels; a GPU takes 256"));
}

//! The most channels of heads that have too few for a warpgroup.
inline constexpr index_t channels_of_a_warp = 32;

//! The same for factors of 16 bits: by warpgroups, where the program's code for the GPU has their
//! products, and neither heads nor sequences are so small that most of one would be padding.
template <class Rounded, class Head, class F>
void with_rounded_products(const Cuda& device, Head head, const AttentionProblem<Cuda>& p,
                           const F& f) {
  constexpr index_t least_rows = 64;
  if constexpr (Head::most_channels > channels_of_a_warp) {
    if (device.uses_wgmma() && p.head_size > channels_of_a_warp &&
        std::min(p.query_layout->longest, p.key_layout->longest) >= least_rows) {
      return with_head_columns(WarpgroupProducts<Rounded>{}, head, p.head_size, f);
    }
  }
  with_head_columns(RoundedProducts<Rounded>{}, head, p.head_size, f);
}

//! Calls `f(products, columns)` with the products of the device's precision and the columns of a
//! head. (For tf32 they are those of floats: nothing is gained by losing digits here.)
template <class Head, class F>
void with_attention_kernels(const Cuda& device, Head head, const AttentionProblem<Cuda>& p,
                            const F& f) {
  switch (device.product_precision()) {
    case ProductPrecision::bfloat16:
      return with_rounded_products<Bfloat16>(device, head, p, f);
    case ProductPrecision::float16:
      return with_rounded_products<Float16>(device, head, p, f);
    default:
      return with_head_columns(FloatProducts{}, head, p.head_size, f);
  }
}

//! 16 rows for each warp of a block: as many as the longest sequence needs, a block may have, and
//! the GPU has shared memory for. `words(rows)`: what a block of so many rows needs. Where a
//! sequence takes several blocks their rows divide the 128 keys that dropout decides together.
template <class Products, int Warps, class Words>
int attention_block_rows(index_t longest, index_t shared_bytes, const Words& words) {
  constexpr int rows = rows_together<Products>;
  constexpr index_t most = Warps / Products::warps;
  static_assert(DropoutMask::group_columns % (most * rows) == 0);
  const index_t needed = (longest + rows - 1) / rows;
  auto times = static_cast<unsigned>(std::clamp(needed, index_t{1}, most));
  while (times > 1 && 4 * words(static_cast<int>(times) * rows) > shared_bytes) {
    times = std::bit_floor(times - 1);
  }
  return static_cast<int>(times) * rows;
}

//! Blocks for all rows of the longest sequence, each head and each sequence.
inline CudaGrid attention_grid(const AttentionProblem<Cuda>& p, const SequenceLayout<Cuda>& layout,
                               int block_rows, int words, int sharers = 1) {
  return {.x = (layout.longest + block_rows - 1) / block_rows,
          .threads = dim3(static_cast<unsigned>(block_rows / warp_rows * sharers * 32)),
          .y = p.heads,
          .z = layout.sequences(),
          .shared_bytes = 4 * index_t{words}};
}

//! Queues a kernel for all blocks of an attention's grid: for more sequences than a grid takes in
//! one go, once for each part of them.
template <class... Parameters, class... Arguments>
void launch_for_sequences(Cuda& device, const char* name, const CudaGrid& grid,
                          void (*kernel)(CudaHead, Parameters...), const CudaHead& head,
                          const Arguments&... arguments) {
  for (index_t first = 0; first < grid.z; first += CudaGrid::most_across) {
    CudaGrid part = grid;
    part.z = std::min(grid.z - first, CudaGrid::most_across);
    device.launch(name, part, kernel, head.from_sequence(first), arguments...);
  }
}

//! Queues it for heads of so many columns and any sequences.
template <class Products, int Columns>
void launch_attention(Cuda& device, const AttentionForward<Cuda>& a) {
  const SequenceLayout<Cuda>& queries = *a.problem.query_layout;
  const int stages = used_stages<Products, Columns>(query_stages<Products, Columns, 1>,
                                                    a.problem.key_layout->longest);
  const auto words = [=](int rows) { return query_words<Products, Columns, 1>(rows, stages); };
  const int rows = attention_block_rows<Products, attention_warps<Products, Columns>>(
      queries.longest, device.shared_bytes_of_block(), words);
  launch_for_sequences(device, "attention", attention_grid(a.problem, queries, rows, words(rows)),
                       attention_kernel<Products, Columns>, CudaHead(a.problem, stages), a.q, a.k,
                       a.v, a.out, a.log_sums);
}

//! Queues it for heads of so many columns and any sequences.
template <class Products, int Columns>
void launch_attention_gradients(Cuda& device, const AttentionBackward<Cuda>& a) {
  const SequenceLayout<Cuda>& queries = *a.problem.query_layout;
  const SequenceLayout<Cuda>& keys = *a.problem.key_layout;
  const Tensor<float, Cuda> deltas(device, {queries.rows(), a.problem.heads});
  const index_t shared_bytes = device.shared_bytes_of_block();
  const int of_keys =
      used_stages<Products, Columns>(query_stages<Products, Columns, 2>, keys.longest);
  const auto words_of_queries = [=](int rows) {
    return query_words<Products, Columns, 2>(rows, of_keys);
  };
  const int query_rows = attention_block_rows<Products, attention_warps<Products, Columns>>(
      queries.longest, shared_bytes, words_of_queries);
  launch_for_sequences(device, "attention_backward for queries",
                       attention_grid(a.problem, queries, query_rows, words_of_queries(query_rows)),
                       attention_query_gradients<Products, Columns>, CudaHead(a.problem, of_keys),
                       a.q, a.k, a.v, a.out, a.log_sums, deltas.data(), a.dout, a.dq);
  const int of_queries =
      used_stages<Products, Columns>(key_stages<Products, Columns>, queries.longest);
  const auto words_of_keys = [=](int rows) {
    return key_words<Products, Columns>(rows, of_queries);
  };
  const int key_rows = attention_block_rows<Products, key_warps<Products, Columns>>(
      keys.longest, shared_bytes, words_of_keys);
  launch_for_sequences(
      device, "attention_backward for keys",
      attention_grid(a.problem, keys, key_rows, words_of_keys(key_rows), key_sharers<Columns>),
      attention_key_gradients<Products, Columns>, CudaHead(a.problem, of_queries), a.q, a.k, a.v,
      a.log_sums, deltas.data(), a.dout, a.dk, a.dv);
}

//! What a block of any GPU's may have in shared memory.
inline constexpr index_t least_shared_bytes = 99 * 1024;

//! Calls `f(R, grid)` with the grid of kernels for short sequences and the keys that they have room
//! for, a constant; false unless sequences are short, products are a warp's of numbers of 16 bits,
//! and heads have up to 128 channels. `Own`: see `ShortSequence`.
template <class Products, int Columns, int Own, class F>
bool with_short_grid(const Cuda& device, const AttentionProblem<Cuda>& p, const F& f) {
  if constexpr (Products::rounds && Products::warps == 1 && Columns <= 128) {
    const index_t keys = p.key_layout->longest;
    const index_t longest = std::max({p.query_layout->longest, keys, index_t{1}});
    if (!device.short_attention() || longest > short_rows) return false;
    const auto warps = static_cast<int>((longest + warp_rows - 1) / warp_rows);
    const auto with = [&]<int R>(std::integral_constant<int, R> constant) {
      static_assert(4 * short_words<Products, Columns, R, Own>(short_rows) <= least_shared_bytes);
      f(constant,
        CudaGrid{.x = 1,
                 .threads = dim3(static_cast<unsigned>(32 * warps)),
                 .y = p.heads,
                 .z = p.query_layout->sequences(),
                 .shared_bytes = 4 * short_words<Products, Columns, R, Own>(warps * warp_rows)});
    };
    if (keys <= short_rows / 2) {
      with(std::integral_constant<int, short_rows / 2>());
    } else {
      with(std::integral_constant<int, short_rows>());
    }
    return true;
  }
  return false;
}

template <class Head>
void attention_forward(Cuda& device, const AttentionForward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  with_attention_kernels(
      device, size, a.problem,
      [&]<class Products, int columns>(Products, std::integral_constant<int, columns>) {
        const bool is_short = with_short_grid<Products, columns, 1>(
            device, a.problem, [&]<int R>(std::integral_constant<int, R>, const CudaGrid& grid) {
              launch_for_sequences(device, "attention", grid,
                                   attention_short_kernel<Products, columns, R>,
                                   CudaHead(a.problem, 1), a.q, a.k, a.v, a.out, a.log_sums);
            });
        if (!is_short) launch_attention<Products, columns>(device, a);
      });
}

template <class Head>
void attention_backward(Cuda& device, const AttentionBackward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  with_attention_kernels(
      device, size, a.problem,
      [&]<class Products, int columns>(Products, std::integral_constant<int, columns>) {
        const bool is_short = with_short_grid<Products, columns, 2>(
            device, a.problem, [&]<int R>(std::integral_constant<int, R>, const CudaGrid& grid) {
              launch_for_sequences(device, "attention_backward", grid,
                                   attention_short_gradients<Products, columns, R>,
                                   CudaHead(a.problem, 1), a.q, a.k, a.v, a.log_sums, a.dout, a.dq,
                                   a.dk, a.dv);
            });
        if (!is_short) launch_attention_gradients<Products, columns>(device, a);
      });
}

}  // namespace weft::ops::detail
