// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Adding rows to those of a table on a GPU, in a fixed order.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <weft/device/cuda.cuh>
#include <weft/ops/embedding.hpp>

namespace weft::ops::detail {

struct NumberElement {
  std::int32_t* numbers;

  template <class Lanes>
  __device__ void operator()(Lanes, index_t n) const {
    numbers[n] = static_cast<std::int32_t>(n);
  }
};

//! Where a word's first row stands among the sorted ones, all its rows are added by one warp or
//! block: no two write to a row of the table, and the order is that of the batch.
struct AddSortedRows {
  const token_t* ids;         // sorted
  const std::int32_t* order;  // the row that stood there, ascending for one word
  index_t N;
  const float* x;
  float scale;
  float* table;
  index_t C;

  template <class Lanes>
  __device__ void operator()(Lanes lanes, index_t first) const {
    const token_t word = ids[first];
    if (first > 0 && ids[first - 1] == word) return;
    float* const out = table + static_cast<index_t>(word) * C;
    lanes.for_each(C, [&](index_t c) {
      float total = out[c];
      for (index_t n = first; n < N && ids[n] == word; ++n) total += x[order[n] * C + c] * scale;
      out[c] = total;
    });
  }
};

inline void add_rows(Cuda& device, const RowAddition& rows) {
  if (rows.N == 0) return;
  const Shape shape{rows.N};
  const Tensor<token_t, Cuda> ids(device, shape);
  const Tensor<std::int32_t, Cuda> numbers(device, shape), order(device, shape);
  device.for_rows(rows.N, 1, NumberElement{numbers.data()});
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    weft::detail::expect_success(
        cub::DeviceRadixSort::SortPairs(scratch, bytes, rows.ids, ids.data(), numbers.data(),
                                        order.data(), static_cast<int>(rows.N), 0, 32,
                                        device.stream()),
        "sorting the words of a batch");
  };
  sort(nullptr);
  const Memory scratch = device.allocate(static_cast<index_t>(bytes));
  sort(scratch.data());
  device.for_rows(rows.N, rows.table.columns(),
                  AddSortedRows{ids.data(), order.data(), rows.N, rows.x, rows.scale,
                                rows.table.data, rows.table.columns()});
}

}  // namespace weft::ops::detail
