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

//! A block for 32 columns of 256 rows: eight warps take rows in turn, and their sums are added in
//! order. `sums` has a row for each block across.
template <class Term>
__global__ void __launch_bounds__(32 * rows_at_once)
    sum_32_columns(Term term, index_t N, index_t C, float* sums, bool accumulate) {
  __shared__ float parts[rows_at_once][32];
  const index_t column = static_cast<index_t>(blockIdx.x) * 32 + threadIdx.x;
  const index_t first = blockIdx.y * rows_of_a_block;
  const index_t end = first + rows_of_a_block < N ? first + rows_of_a_block : N;
  float total = 0.0f;
  if (column < C) {
#pragma unroll 8
    for (index_t n = first + threadIdx.y; n < end; n += rows_at_once) total += term(n, column);
  }
  parts[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y > 0 || column >= C) return;
  for (int part = 1; part < rows_at_once; ++part) total += parts[part][threadIdx.x];
  float& sum = sums[blockIdx.y * C + column];
  sum = accumulate ? sum + total : total;
}

//! Adds 256 rows at a time, then those sums alike: a matrix with few columns has enough rows to
//! keep a GPU busy, and the order is that of its extents alone.
template <class Term>
void sum_columns(Cuda& device, index_t N, index_t C, float* sums, Write write, Term term) {
  const index_t blocks = std::max((N + rows_of_a_block - 1) / rows_of_a_block, index_t{1});
  const CudaGrid grid{(C + 31) / 32, dim3(32, rows_at_once), blocks};
  const char* const name = weft::detail::name_of_kernel<Term>();
  if (blocks == 1) {
    device.launch(name, grid, sum_32_columns<Term>, term, N, C, sums, write == Write::accumulate);
    return;
  }
  const Tensor<float, Cuda> of_blocks(device, {blocks, C});
  device.launch(name, grid, sum_32_columns<Term>, term, N, C, of_blocks.data(), false);
  sum_columns(device, blocks, C, sums, write, RowTerm{of_blocks.data(), C});
}

}  // namespace weft::ops::detail
