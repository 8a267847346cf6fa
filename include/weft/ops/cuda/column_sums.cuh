// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Sums over rows on a GPU.
#pragma once

#include <weft/device/cuda.cuh>
#include <weft/ops/column_sums.hpp>

namespace weft::ops::detail {

inline constexpr int rows_at_once = 8;

//! A block for 32 columns: eight warps take rows in turn, and their sums are added in order.
template <class Term>
__global__ void __launch_bounds__(32 * rows_at_once)
    sum_32_columns(Term term, index_t N, index_t C, float* sums, bool accumulate) {
  __shared__ float parts[rows_at_once][32];
  const index_t column = static_cast<index_t>(blockIdx.x) * 32 + threadIdx.x;
  float total = 0.0f;
  if (column < C) {
    for (index_t n = threadIdx.y; n < N; n += rows_at_once) total += term(n, column);
  }
  parts[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y > 0 || column >= C) return;
  for (int part = 1; part < rows_at_once; ++part) total += parts[part][threadIdx.x];
  sums[column] = accumulate ? sums[column] + total : total;
}

template <class Term>
void sum_columns(Cuda& device, index_t N, index_t C, float* sums, Write write, Term term) {
  device.launch(weft::detail::name_of_kernel<Term>(), {(C + 31) / 32, dim3(32, rows_at_once)},
                sum_32_columns<Term>, term, N, C, sums, write == Write::accumulate);
}

}  // namespace weft::ops::detail
