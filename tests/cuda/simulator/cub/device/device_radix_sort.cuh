// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

namespace cub {

struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* scratch, std::size_t& bytes, const Key* keys, Key* sorted_keys,
                               const Value* values, Value* sorted_values, int count, int begin_bit,
                               int end_bit, cudaStream_t stream) {
    if (scratch == nullptr) {
      bytes = 1;
      return cudaSuccess;
    }
    simulator::queue(*stream, [=] {
      std::vector<int> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      const auto read = [&](int at) {
        const auto bits = static_cast<std::uint64_t>(keys[at]);
        return (bits & ((std::uint64_t{1} << end_bit) - 1)) >> begin_bit;
      };
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return read(a) < read(b); });
      for (int i = 0; i < count; ++i) {
        sorted_keys[i] = keys[order[static_cast<std::size_t>(i)]];
        sorted_values[i] = values[order[static_cast<std::size_t>(i)]];
      }
    });
    return cudaSuccess;
  }
};

}  // namespace cub
