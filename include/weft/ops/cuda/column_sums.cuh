// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums over rows on a GPU.
#pragma once

#include <algorithm>
#include <type_traits>

#include <weft/core/simd_quad.hpp>
#include <weft/device/cuda.cuh>
#include <weft/device/cuda_quads.cuh>
#include <weft/device/kernel_name.cuh>
#include <weft/ops/column_sums.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

inline constexpr int rows_at_once = 8;
inline constexpr index_t rows_of_a_block = 256;

//! The columns that a lane adds up: one, or four neighbours, which are read at once.
template <class Columns>
constexpr int columns_of_lane = std::is_same_v<Columns, index_t> ? 1 : 4;

template <class Columns>
__device__ Columns columns_from(index_t first) {
  if constexpr (std::is_same_v<Columns, index_t>) {
    return first;
  } else {
    return Columns{static_cast<int>(first)};
  }
}

//! A lane's sum of its column i.
__device__ inline float& sum_of(float& total, int) { return total; }
__device__ inline float& sum_of(simd::Four& total, int i) { return total.v[i]; }

//! Adds what the eight warps of a block have for their columns, in the order of the warps. The
//! first warp has the sum. Between two calls lies a barrier.
template <int Width, class Sum>
__device__ void add_warps(Sum& total) {
  __shared__ float parts[Width][rows_at_once][32];
#pragma unroll
  for (int i = 0; i < Width; ++i) parts[i][threadIdx.y][threadIdx.x] = sum_of(total, i);
  __syncthreads();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      for (int part = 1; part < rows_at_once; ++part) {
        sum_of(total, i) += parts[i][part][threadIdx.x];
      }
    }
  }
}

//! A block for the columns of 32 lanes in 256 rows: eight warps take rows in turn, and their sums
//! are added in order. `parts` has a row for each block across, which the last of them to end adds
//! in the same way; it finds itself by a counter, which goes back to 0 with it.
template <class Columns, class Term>
__global__ void __launch_bounds__(32 * rows_at_once)
    sum_columns_of_rows(Term term, index_t N, index_t C, float* parts, unsigned* ended, float* sums,
                        bool accumulate) {
  constexpr int width = columns_of_lane<Columns>;
  using Sum = decltype(term(index_t{}, Columns{}));
  __shared__ bool is_last;
  const index_t column = (static_cast<index_t>(blockIdx.x) * 32 + threadIdx.x) * width;
  const bool is_there = column < C;
  const index_t first = blockIdx.y * rows_of_a_block;
  const index_t end = first + rows_of_a_block < N ? first + rows_of_a_block : N;
  Sum total{};
  if (is_there) {
#pragma unroll 8
    for (index_t n = first + threadIdx.y; n < end; n += rows_at_once) {
      total += term(n, columns_from<Columns>(column));
    }
  }
  add_warps<width>(total);
  if (gridDim.y > 1) {
    if (threadIdx.y == 0) {
#pragma unroll
      for (int i = 0; i < width; ++i) {
        if (is_there) parts[blockIdx.y * C + column + i] = sum_of(total, i);
      }
      __syncwarp();
      if (threadIdx.x == 0) {
        __threadfence();  // what the warp wrote is there before the block is counted
        is_last = atomicInc(&ended[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // what the others wrote is read after they were counted
      }
    }
    __syncthreads();
    if (!is_last) return;
    total = Sum{};
    if (is_there) {
      const volatile float* const of_all = parts;  // not what this multiprocessor's cache has
#pragma unroll 8
      for (index_t n = threadIdx.y; n < gridDim.y; n += rows_at_once) {
#pragma unroll
        for (int i = 0; i < width; ++i) sum_of(total, i) += of_all[n * C + column + i];
      }
    }
    add_warps<width>(total);
  }
  if (threadIdx.y > 0 || !is_there) return;
#pragma unroll
  for (int i = 0; i < width; ++i) {
    float& sum = sums[column + i];
    sum = accumulate ? sum + sum_of(total, i) : sum_of(total, i);
  }
}

//! The same by as many blocks as that takes.
template <class Columns, class Term>
void launch_column_sums(Cuda& device, index_t N, index_t C, float* sums, Write write, Term term) {
  constexpr index_t of_block = 32 * columns_of_lane<Columns>;
  const index_t blocks = std::max((N + rows_of_a_block - 1) / rows_of_a_block, index_t{1});
  const CudaGrid grid{(C + of_block - 1) / of_block, dim3(32, rows_at_once), blocks};
  Tensor<float, Cuda> parts;
  unsigned* ended = nullptr;
  if (blocks > 1) {
    parts = Tensor<float, Cuda>(device, {blocks, C});
    ended = device.counters(grid.x);
  }
  device.launch(weft::detail::name_of_kernel<Term>(), grid, sum_columns_of_rows<Columns, Term>,
                term, N, C, parts.data(), ended, sums, write == Write::accumulate);
}

//! Adds 256 rows at a time, then those sums: a matrix with few columns has enough rows to keep a
//! GPU busy, and the order is that of its extents alone. Terms say whether four columns can be read
//! at once, which asks for more bytes before any of them is added.
template <class Term>
void sum_columns(Cuda& device, index_t N, index_t C, float* sums, Write write, Term term) {
  if (C % 4 == 0 && term.lies_in_quads()) {
    launch_column_sums<simd::Quad<true>>(device, N, C, sums, write, term);
  } else {
    launch_column_sums<index_t>(device, N, C, sums, write, term);
  }
}

}  // namespace weft::ops::detail
