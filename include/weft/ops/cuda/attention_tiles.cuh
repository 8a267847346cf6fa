// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A head of attention on a GPU, and how its rows come into tiles in shared memory.
#pragma once

#include <cstdint>

#include <weft/core/any_floats.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda.cuh>
#include <weft/device/ptx.cuh>
#include <weft/ops/attention_problem.hpp>

namespace weft::ops::detail {

//! What all passes know of one head of one sequence.
struct CudaHead {
  index_t heads, head_size;
  bool causal;
  float scale;
  DropoutMask dropout;
  const index_t *query_starts, *key_starts;
  const RowKey* query_keys;
  int stages;  // tiles of each array that there is memory for

  CudaHead(const AttentionProblem<Cuda>& p, int used)
      : heads(p.heads),
        head_size(p.head_size),
        causal(p.causal),
        scale(p.scale),
        dropout(p.dropout),
        query_starts(p.query_layout->starts.data()),
        key_starts(p.key_layout->starts.data()),
        query_keys(p.query_layout->keys.data()),
        stages(used) {}

  //! The same where a grid's first sequence is another one.
  [[nodiscard]] CudaHead from_sequence(index_t first) const {
    CudaHead head = *this;
    head.query_starts += first, head.key_starts += first;
    return head;
  }

  //! The channel where this block's head begins, in rows whose heads so many share.
  [[nodiscard]] __device__ index_t channel(int sharing = 1) const {
    return blockIdx.y / static_cast<unsigned>(sharing) * head_size;
  }

  [[nodiscard]] __device__ DropoutMask mask() const {
    DropoutMask of_head = dropout;
    of_head.operation += blockIdx.y;
    return of_head;
  }

  //! The place of a query's logarithm of a sum, and of other numbers kept for each row and head.
  [[nodiscard]] __device__ index_t place(index_t row) const { return row * heads + blockIdx.y; }
};

//! The rows of a head, and a tile that is to have some of them.
template <class Products, int Columns>
struct TileSource {
  using Tile = typename Products::template Tile<Columns>;
  //! What is copied at once: 16 bytes.
  static constexpr int chunk = 4 * Products::per_word;

  Tile tile;
  AnyFloats<const void> data;  // row 0 of the head
  index_t stride;
  int head_size;

  __device__ TileSource(Tile to, const CudaHead& head, AnyHeadRows<const void> from)
      : tile(to),
        data(from.data + head.channel(from.sharing)),
        stride(from.stride),
        head_size(static_cast<int>(head.head_size)) {}

  //! Whether rows lie as the tile has them, in whole chunks.
  [[nodiscard]] __device__ bool can_be_copied() const {
    return data.rounded() == Products::rounds && head_size % chunk == 0 && stride % chunk == 0 &&
           reinterpret_cast<std::uintptr_t>(data.data) % 16 == 0;
  }
};

//! Begins to copy rows `first` to `first` + `rows` - 1 into each tile, of which `there` are rows
//! and the others zeros.
template <class Products, int Columns, int N>
__device__ void copy_rows(const TileSource<Products, Columns> (&sources)[N], int rows,
                          index_t first, int there) {
  constexpr int chunk = TileSource<Products, Columns>::chunk, chunks = Columns / chunk;
  constexpr int bytes = 16 / chunk;
  // A thread has the same chunks of every row that it copies: what they lie at is found once.
  constexpr int threads_of_row = chunks < 32 ? chunks : 32;
  const int own = static_cast<int>(threadIdx.x) % threads_of_row * chunk;
  const int step = static_cast<int>(blockDim.x) / threads_of_row;
#pragma unroll 2
  for (int row = static_cast<int>(threadIdx.x) / threads_of_row; row < rows; row += step) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const TileSource<Products, Columns>& source = sources[n];
      // From row `first` on, offsets have 32 bits.
      const auto* const begin =
          static_cast<const char*>(source.data.data) + first * source.stride * bytes;
#pragma unroll
      for (int turn = 0; turn < chunks / threads_of_row; ++turn) {
        const int c = own + turn * threads_of_row * chunk;
        const int offset = (row * static_cast<int>(source.stride) + c) * bytes;
        ptx::copy_async(source.tile.chunk(row, c / chunk), begin + offset,
                        row < there && c < source.head_size);
      }
    }
  }
}

//! The same, number by number: rows that are rounded on their way, or lie askew.
template <class Products, int Columns>
__device__ void gather_rows(const TileSource<Products, Columns>& source, int rows, index_t first,
                            int there) {
  constexpr int words = Columns / Products::per_word;
  for (int i = static_cast<int>(threadIdx.x); i < rows * words; i += static_cast<int>(blockDim.x)) {
    const int row = i / words, word = i % words;
    float x[Products::per_word];
#pragma unroll
    for (int part = 0; part < Products::per_word; ++part) {
      const int c = word * Products::per_word + part;
      const bool is_there = row < there && c < source.head_size;
      x[part] = is_there ? simd::load(source.data, (first + row) * source.stride + c) : 0.0f;
    }
    source.tile.chunk(row, word / 4)[word % 4] = Products::word(x);
  }
}

//! Begins to bring rows `first` to `first` + `rows` - 1 into each tile; zeros from row `end` on.
//! `wait_for_rows` ends it.
template <class Products, int Columns, int N>
__device__ void load_rows(const TileSource<Products, Columns> (&sources)[N], int rows,
                          index_t first, index_t end) {
  const int there = static_cast<int>(end - first < rows ? end - first : rows);
  bool can_be_copied = true;
#pragma unroll
  for (int n = 0; n < N; ++n) can_be_copied = can_be_copied && sources[n].can_be_copied();
  if (can_be_copied) return copy_rows(sources, rows, first, there);
#pragma unroll
  for (int n = 0; n < N; ++n) gather_rows(sources[n], rows, first, there);
}

//! All threads of a block, and their products, see the rows that any of them has begun to load.
template <class Products>
__device__ void wait_for_rows() {
  ptx::wait_for_copies();
  Products::show_written();
  __syncthreads();
}

}  // namespace weft::ops::detail
