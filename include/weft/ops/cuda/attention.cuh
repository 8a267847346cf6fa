// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention on a GPU: products by tensor cores, of tiles in shared memory, 16 rows a warp.
//!
//! Scores are never written to memory: the forward pass keeps running sums of exponentials, the
//! backward pass computes the probabilities twice, once a query for dq and once a key for dk and
//! dv. Nothing is added from two places, so every sum has a fixed order.
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
#include <weft/ops/cuda/library_attention.cuh>

namespace weft::ops::detail {

//! Calls `f` with the number of columns that a head takes, as a constant: 16, 32, 64, 128 or 256.
template <index_t N, class F>
void with_head_columns(HeadSize<N>, index_t, const F& f) {
  static_assert(N <= 256,
                "attention on a GPU takes heads of up to 256 channels: choose more heads");
  constexpr int columns = std::max(static_cast<int>(std::bit_ceil(static_cast<unsigned>(N))), 16);
  f(std::integral_constant<int, columns>());
}

//! The same for a head size that is known now.
//!
//! **Errors.** ShapeError if it is too large.
template <class F>
void with_head_columns(AnyHeadSize, index_t head_size, const F& f) {
  if (head_size <= 16) return f(std::integral_constant<int, 16>());
  if (head_size <= 32) return f(std::integral_constant<int, 32>());
  if (head_size <= 64) return f(std::integral_constant<int, 64>());
  if (head_size <= 128) return f(std::integral_constant<int, 128>());
  if (head_size <= 256) return f(std::integral_constant<int, 256>());
  throw ShapeError(text("attention: a head of ", head_size, " channels; a GPU takes 256"));
}

//! Calls `f(products, columns)` with the products of the device's precision and the columns of a
//! head. (For tf32 they are those of floats: nothing is gained by losing digits here.)
template <class Head, class F>
void with_attention_kernels(const Cuda& device, Head head, index_t head_size, const F& f) {
  with_head_columns(head, head_size, [&](auto columns) {
    switch (device.product_precision()) {
      case ProductPrecision::bfloat16:
        return f(RoundedProducts<Bfloat16>{}, columns);
      case ProductPrecision::float16:
        return f(RoundedProducts<Float16>{}, columns);
      default:
        return f(FloatProducts{}, columns);
    }
  });
}

//! As many warps as the longest sequence needs, up to the most of a block: 16 rows each.
template <int Columns>
int attention_block_rows(const SequenceLayout<Cuda>& layout) {
  const index_t needed = (layout.longest + warp_rows - 1) / warp_rows;
  constexpr index_t most = attention_warps<Columns>;
  return static_cast<int>(needed < 1 ? 1 : needed < most ? needed : most) * warp_rows;
}

//! Blocks for all rows of the longest sequence, each head and each sequence.
inline CudaGrid attention_grid(const AttentionProblem<Cuda>& p, const SequenceLayout<Cuda>& layout,
                               int block_rows, index_t words) {
  return {.x = (layout.longest + block_rows - 1) / block_rows,
          .threads = dim3(static_cast<unsigned>(block_rows / warp_rows * 32)),
          .y = p.heads,
          .z = layout.sequences(),
          .shared_bytes = words * index_t{sizeof(std::uint32_t)}};
}

template <class Head>
void attention_forward(Cuda& device, const AttentionForward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  const SequenceLayout<Cuda>& layout = *a.problem.query_layout;
  with_attention_kernels(device, size, a.problem.head_size, [&](auto products, auto columns) {
    using Products = decltype(products);
    const int rows = attention_block_rows<columns()>(layout);
    const index_t words = attention_words<Products, columns()>(rows, 1, rows, 0);
    device.launch("attention", attention_grid(a.problem, layout, rows, words),
                  attention_kernel<Products, columns()>, CudaHead(a.problem), a.q, a.k, a.v, a.out,
                  a.log_sums);
  });
}

template <class Head>
void attention_backward(Cuda& device, const AttentionBackward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  const CudaHead head(a.problem);
  const SequenceLayout<Cuda>& queries = *a.problem.query_layout;
  const SequenceLayout<Cuda>& keys = *a.problem.key_layout;
  const Tensor<float, Cuda> deltas(device, {queries.rows(), a.problem.heads});
  device.for_rows(
      queries.rows() * a.problem.heads, a.problem.head_size,
      AttentionDeltaRow{a.out, a.dout, a.problem.heads, a.problem.head_size, deltas.data()});
  with_attention_kernels(device, size, a.problem.head_size, [&](auto products, auto columns) {
    using Products = decltype(products);
    constexpr int tile = attention_tile<Products, columns()>;
    const int query_rows = attention_block_rows<columns()>(queries);
    const index_t query_words = attention_words<Products, columns()>(query_rows, 2, query_rows, 0);
    device.launch("attention_backward for queries",
                  attention_grid(a.problem, queries, query_rows, query_words),
                  attention_query_gradients<Products, columns()>, head, a.q, a.k, a.v, a.log_sums,
                  deltas.data(), a.dout, a.dq);
    const int key_rows = attention_block_rows<columns()>(keys);
    const index_t key_words = attention_words<Products, columns()>(key_rows, 2, tile, 2 * tile);
    CudaGrid key_grid = attention_grid(a.problem, keys, key_rows, key_words);
    key_grid.x *= columns() / key_gradient_columns<columns()>;
    device.launch("attention_backward for keys", key_grid,
                  attention_key_gradients<Products, columns()>, head, a.q, a.k, a.v, a.log_sums,
                  deltas.data(), a.dout, a.dk, a.dv);
  });
}

}  // namespace weft::ops::detail
