// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cub/warp/warp_reduce.cuh>

namespace cub {

template <class T, int Threads>
struct BlockReduce {
  struct TempStorage {
    T of_warp[Threads / 32];
  };
  TempStorage& storage;
  explicit BlockReduce(TempStorage& shared) : storage(shared) {}

  //! On thread 0.
  template <class Operation>
  T Reduce(T mine, Operation operation) {
    typename WarpReduce<T>::TempStorage none;
    T total = WarpReduce<T>(none).Reduce(mine, operation);
    if (threadIdx.x % 32 == 0) storage.of_warp[threadIdx.x / 32] = total;
    __syncthreads();
    for (int warp = 1; warp < Threads / 32 && threadIdx.x == 0; ++warp) {
      total = operation(total, storage.of_warp[warp]);
    }
    return total;
  }
};

}  // namespace cub
