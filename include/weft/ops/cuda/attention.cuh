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

//! Calls `f(products, columns)` with the number of columns that a head takes, as a constant: 16,
//! 32, 64, 128 or 256, and 8 where the products add up so many terms.
template <class Products, index_t N, class F>
void with_head_columns(Products products, HeadSize<N>, index_t, const F& f) {
  static_assert(N <= 256,
                "attention on a GPU takes heads of up to 256 channels: choose more heads");
  constexpr int columns = static_cast<int>(std::bit_ceil(static_cast<unsigned>(N)));
  f(products, std::integral_constant<int, std::max(columns, Products::terms)>());
}

//! The same for a head size that is known now.
//!
//! **Errors.** ShapeError if it is too large.
template <class Products, class F>
void with_head_columns(Products products, AnyHeadSize, index_t head_size, const F& f) {
  if (head_size <= 16) return f(products, std::integral_constant<int, 16>());
  if (head_size <= 32) return f(products, std::integral_constant<int, 32>());
  if (head_size <= 64) return f(products, std::integral_constant<int, 64>());
  if (head_size <= 128) return f(products, std::integral_constant<int, 128>());
  if (head_size <= 256) return f(products, std::integral_constant<int, 256>());
  throw ShapeError(text("attention: a head of ", head_size, " channels; a GPU takes 256"));
}

//! Calls `f(products, columns)` with the products of the device's precision and the columns of a
//! head. (For tf32 they are those of floats: nothing is gained by losing digits here.)
template <class Head, class F>
void with_attention_kernels(const Cuda& device, Head head, index_t head_size, const F& f) {
  switch (device.product_precision()) {
    case ProductPrecision::bfloat16:
      return with_head_columns(RoundedProducts<Bfloat16>{}, head, head_size, f);
    case ProductPrecision::float16:
      return with_head_columns(RoundedProducts<Float16>{}, head, head_size, f);
    default:
      return with_head_columns(FloatProducts{}, head, head_size, f);
  }
}

//! As many warps as the longest sequence needs, a block may have, and the GPU has shared memory
//! for: 16 rows each. `words(rows)`: what a block of so many rows needs. Where a sequence takes
//! several blocks their rows divide the 128 keys that dropout decides together.
template <int Columns, class Words>
int attention_block_rows(index_t longest, index_t shared_bytes, const Words& words) {
  const index_t needed = (longest + warp_rows - 1) / warp_rows;
  constexpr index_t most = attention_warps<Columns>;
  static_assert(DropoutMask::group_columns % (most * warp_rows) == 0);
  auto warps = static_cast<unsigned>(std::clamp(needed, index_t{1}, most));
  while (warps > 1 && 4 * words(static_cast<int>(warps) * warp_rows) > shared_bytes) {
    warps = std::bit_floor(warps - 1);
  }
  return static_cast<int>(warps) * warp_rows;
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

//! **Errors.** ArgumentError unless the scale is above 0: the largest score is the largest product
//! then.
inline void expect_scale(float scale) {
  if (scale > 0.0f) return;
  throw ArgumentError(text("attention: a scale of ", scale, "; a GPU takes scales above 0"));
}

template <class Head>
void attention_forward(Cuda& device, const AttentionForward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  expect_scale(a.problem.scale);
  const SequenceLayout<Cuda>& layout = *a.problem.query_layout;
  with_attention_kernels(device, size, a.problem.head_size, [&](auto products, auto columns) {
    using Products = decltype(products);
    const int stages = used_stages<Products, columns(), 1>(a.problem.key_layout->longest);
    const auto words = [=](int rows) { return query_words<Products, columns(), 1>(rows, stages); };
    const int rows =
        attention_block_rows<columns()>(layout.longest, device.shared_bytes_of_block(), words);
    device.launch("attention", attention_grid(a.problem, layout, rows, words(rows)),
                  attention_kernel<Products, columns()>, CudaHead(a.problem, stages), a.q, a.k, a.v,
                  a.out, a.log_sums);
  });
}

template <class Head>
void attention_backward(Cuda& device, const AttentionBackward<Cuda>& a, Head size) {
  if (attention_by_library(device, a)) return;
  const SequenceLayout<Cuda>& queries = *a.problem.query_layout;
  const SequenceLayout<Cuda>& keys = *a.problem.key_layout;
  const Tensor<float, Cuda> deltas(device, {queries.rows(), a.problem.heads});
  with_attention_kernels(device, size, a.problem.head_size, [&](auto products, auto columns) {
    using Products = decltype(products);
    const index_t shared_bytes = device.shared_bytes_of_block();
    const int key_stages = used_stages<Products, columns(), 2>(keys.longest);
    const auto of_queries = [=](int rows) {
      return query_words<Products, columns(), 2>(rows, key_stages);
    };
    const int query_rows =
        attention_block_rows<columns()>(queries.longest, shared_bytes, of_queries);
    device.launch("attention_backward for queries",
                  attention_grid(a.problem, queries, query_rows, of_queries(query_rows)),
                  attention_query_gradients<Products, columns()>, CudaHead(a.problem, key_stages),
                  a.q, a.k, a.v, a.out, a.log_sums, deltas.data(), a.dout, a.dq);
    const int query_stages = used_stages<Products, columns(), 2>(queries.longest);
    const auto of_keys = [=](int rows) {
      return key_words<Products, columns()>(rows, query_stages);
    };
    constexpr int sharers = key_sharers<columns()>;
    const int key_rows = attention_block_rows<columns()>(keys.longest, shared_bytes, of_keys);
    device.launch("attention_backward for keys",
                  attention_grid(a.problem, keys, key_rows, of_keys(key_rows), sharers),
                  attention_key_gradients<Products, columns()>, CudaHead(a.problem, query_stages),
                  a.q, a.k, a.v, a.log_sums, deltas.data(), a.dout, a.dk, a.dv);
  });
}

}  // namespace weft::ops::detail
