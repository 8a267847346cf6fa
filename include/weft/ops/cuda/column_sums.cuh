// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums over rows on a GPU.
#pragma once

#include <algorithm>

#include <weft/device/cuda.cuh>
#include <weft/ops/column_sums.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::ops::detail {

inline constexpr int rows_at_once = 8;
inline constexpr index_t rows_of_a_block = 256;

//! Adds what the eight warps of a block have for 32 columns, in the order of the warps. The first
//! warp has the sum.
__device__ inline float sum_of_warps(float total) {
  __shared__ float parts[rows_at_once][32];
  parts[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y == 0) {
    for (int part = 1; part < rows_at_once; ++part) total += parts[part][threadIdx.x];
  }
  __syncthreads();  // the next sums may be written
  return total;
}

//! A block for 32 columns of 256 rows: eight warps take rows in turn, and their sums are added in
//! order. `parts` has a row for each block across, which the last of them to end adds in the same
//! way; it finds itself by a counter, which goes back to 0 with it.
template <class Term>
__global__ void __launch_bounds__(32 * rows_at_once)
    sum_32_columns(Term term, index_t N, index_t C, float* parts, unsigned* ended, float* sums,
                   bool accumulate) {
  __shared__ bool is_last;
  const index_t column = static_cast<index_t>(blockIdx.x) * 32 + threadIdx.x;
  const index_t first = blockIdx.y * rows_of_a_block;
  const index_t end = first + rows_of_a_block < N ? first + rows_of_a_block : N;
  float total = 0.0f;
  if (column < C) {
#pragma unroll 8
    for (index_t n = first + threadIdx.y; n < end; n += rows_at_once) total += term(n, column);
  }
  total = sum_of_warps(total);
  if (gridDim.y > 1) {
    if (threadIdx.y == 0) {
      if (column < C) parts[blockIdx.y * C + column] = total;
      __syncwarp();
      if (threadIdx.x == 0) {
        __threadfence();  // what the warp wrote is there before the block is counted
        is_last = atomicInc(&ended[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // what the others wrote is read after they were counted
      }
    }
    __syncthreads();
    if (!is_last) return;
    total = 0.0f;
    if (column < C) {
      const volatile float* const of_all = parts;  // not what this multiprocessor's cache has
#pragma unroll 8
      for (index_t n = threadIdx.y; n < gridDim.y; n += rows_at_once) {
        total += of_all[n * C + column];
      }
    }
    total = sum_of_warps(total);
  }
  if (threadIdx.y > 0 || column >= C) return;
  sums[column] = accumulate ? sums[column] + total : total;
}

//! Adds 256 rows at a time, then those sums: a matrix with few columns has enough rows to keep a
//! GPU busy, and the order is that of its extents alone.
template <class Term>
void sum_columns(Cuda& device, index_t N, index_t C, float* sums, Write write, Term term) {
  const index_t blocks = std::max((N + rows_of_a_block - 1) / rows_of_a_block, index_t{1});
  const CudaGrid grid{(C + 31) / 32, dim3(32, rows_at_once), blocks};
  Tensor<float, Cuda> parts;
  unsigned* ended = nullptr;
  if (blocks > 1) {
    parts = Tensor<float, Cuda>(device, {blocks, C});
    ended = device.counters(grid.x);
  }
  device.launch(weft::detail::name_of_kernel<Term>(), grid, sum_32_columns<Term>, term, N, C,
                parts.data(), ended, sums, write == Write::accumulate);
}

}  // namespace weft::ops::detail
