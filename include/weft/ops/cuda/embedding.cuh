// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Adding rows to those of a table on a GPU, in a fixed order.
#pragma once

#include <algorithm>
#include <bit>
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

//! Where a word's first row stands among the sorted ones, one warp adds all its rows, 128 columns
//! of them: no two write to the same number, and the order is that of the batch. Rows of the words
//! that are everywhere are many, so a thread asks for those of eight before it waits for one.
struct AddSortedRows {
  const token_t* ids;         // sorted
  const std::int32_t* order;  // the row that stood there, ascending for one word
  index_t N;
  const float* x;
  float scale;
  float* table;
  index_t C;

  [[nodiscard]] __host__ __device__ index_t groups() const {
    return (C + CudaLanes<32>::group - 1) / CudaLanes<32>::group;
  }

  template <class Warp>
  __device__ void operator()(Warp lanes, index_t item) const {
    const index_t first = item / groups(), column = item % groups() * Warp::group;
    const token_t word = ids[first];
    if (first > 0 && ids[first - 1] == word) return;
    index_t end = first + 1;
    while (end < N && ids[end] == word) ++end;

    float* const out = table + static_cast<index_t>(word) * C;
    float totals[4];
    lanes.in_group(column, C, [&](int turn, index_t c) { totals[turn] = out[c]; });
#pragma unroll 8
    for (index_t n = first; n < end; ++n) {
      const float* const row = x + order[n] * C;
      lanes.in_group(column, C, [&](int turn, index_t c) { totals[turn] += row[c] * scale; });
    }
    lanes.in_group(column, C, [&](int turn, index_t c) { out[c] = totals[turn]; });
  }
};

//! The rows' numbers, by their words.
struct SortByWord {
  const token_t* ids;
  const std::int32_t* numbers;
  token_t* sorted_ids;
  std::int32_t* order;
  std::int32_t N;
  int bits;  // of a word
  std::size_t scratch_bytes;
  void* scratch;  // or null, to be told how much it has to be

  [[nodiscard]] cudaError_t operator()(cudaStream_t stream) const {
    std::size_t bytes = scratch_bytes;
    return run(bytes, stream);
  }
  [[nodiscard]] cudaError_t run(std::size_t& bytes, cudaStream_t stream) const {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, ids, sorted_ids, numbers, order, N, 0,
                                           bits, stream);
  }
  friend bool operator==(const SortByWord&, const SortByWord&) = default;
};

inline void add_rows(Cuda& device, const RowAddition& rows) {
  if (rows.N == 0) return;
  const Shape shape{rows.N};
  const Tensor<token_t, Cuda> ids(device, shape);
  const Tensor<std::int32_t, Cuda> numbers(device, shape), order(device, shape);
  device.for_rows(rows.N, 1, NumberElement{numbers.data()});
  const auto last_word = static_cast<std::uint64_t>(std::max(rows.table.rows() - 1, index_t{1}));
  SortByWord sort{rows.ids,
                  numbers.data(),
                  ids.data(),
                  order.data(),
                  static_cast<std::int32_t>(rows.N),
                  static_cast<int>(std::bit_width(last_word)),
                  /*scratch_bytes=*/0,
                  /*scratch=*/nullptr};
  weft::detail::expect_success(sort.run(sort.scratch_bytes, nullptr),
                               "preparing to sort the words of a batch");
  const Memory scratch = device.allocate(static_cast<index_t>(sort.scratch_bytes));
  sort.scratch = scratch.data();
  device.call("sorting the words of a batch", sort);
  const AddSortedRows add{ids.data(),      order.data(),        rows.N, rows.x, rows.scale,
                          rows.table.data, rows.table.columns()};
  device.for_rows(rows.N * add.groups(), CudaLanes<32>::group, add);
}

}  // namespace weft::ops::detail
