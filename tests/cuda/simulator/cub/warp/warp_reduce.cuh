// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace cub {

template <class T>
struct WarpReduce {
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}

  //! On lane 0: lane i and the one 1, 2, 4, ... further.
  template <class Operation>
  T Reduce(T mine, Operation operation) {
    return simulator::Threads::here().exchange(~0u, mine, [&](auto of_lane) {
      T all[simulator::warp_size];
      for (unsigned i = 0; i < simulator::warp_size; ++i) all[i] = of_lane(i);
      for (unsigned apart = 1; apart < simulator::warp_size; apart *= 2) {
        for (unsigned i = 0; i + apart < simulator::warp_size; i += 2 * apart) {
          all[i] = operation(all[i], all[i + apart]);
        }
      }
      return all[0];
    });
  }
};

}  // namespace cub
