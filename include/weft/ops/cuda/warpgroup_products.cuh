// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Small matrix products of a warpgroup: what warp_products.cuh has for a warp, by `wgmma`.
//!
//! A warp has 16 rows of a result as there, of 64 that four warps find together; all of them come
//! to each product.
#pragma once

#include <cstdint>

#include <weft/core/host_device.hpp>
#include <weft/device/wgmma.cuh>
#include <weft/ops/cuda/warp_products.cuh>

namespace weft::ops::detail {

//! Rows of `Columns` numbers of 16 bits in shared memory, in blocks of 8 rows of 64, of which those
//! of the same rows lie side by side. Begins at a multiple of 1,024 bytes.
template <class Products, int Columns>
struct WarpgroupTile {
  static_assert(Columns % 64 == 0);
  static constexpr int block_words = 256;
  static constexpr int words_of_eight = Columns / 64 * block_words;  // rows

  std::uint32_t* words;

  //! Where 16 bytes of a row begin.
  [[nodiscard]] __device__ std::uint32_t* chunk(int row, int which) const {
    return words + row / 8 * words_of_eight + which / 8 * block_words + row % 8 * 32 +
           (which % 8 ^ row % 8) * 4;
  }
  //! The rows from one on, a multiple of 8.
  [[nodiscard]] __device__ WarpgroupTile from_row(int row) const {
    return {words + row / 8 * words_of_eight};
  }
  //! The words of so many rows, a multiple of 8.
  WEFT_HOST_DEVICE static constexpr int size(int rows) { return rows / 8 * words_of_eight; }

  //! The factor that begins at the first row and column.
  [[nodiscard]] __device__ ptx::WgmmaFactor factor() const { return {words, 4 * words_of_eight}; }
  //! How many bytes later the one begins that does so at a row, a multiple of 8, and a column, a
  //! multiple of 64 or, of the first row, 16.
  WEFT_HOST_DEVICE static constexpr int bytes_to(int row, int column) {
    return 4 * (size(row) + column / 64 * block_words) + column % 64 * 2;
  }
};

//! Products of factors that are rounded to Bfloat16 or Float16, in float.
template <class Rounded>
struct WarpgroupProducts : RoundedProducts<Rounded> {
  static constexpr bool are_compiled = ptx::has_wgmma;  //!< where `wgmma` is
  static constexpr int warps = 4;                       //!< that multiply together
  static constexpr int least_columns = 64;              //!< of a head
  //! Shared memory of a block: all that one may have on Hopper.
  static constexpr int block_bytes = 227 * 1024;
  //! The most columns of a head of which sums and scores fit into 128 registers a thread.
  static constexpr int columns_of_128_registers = 64;
  template <int Columns>
  using Tile = WarpgroupTile<WarpgroupProducts, Columns>;  //!< rows in shared memory

  //! Lets products see what this thread has written to shared memory, once the others see it.
  __device__ static void show_written() { ptx::show_to_wgmma(); }
};

//! scores (64, R) = a b', where a is rows `first` to `first` + 15 of a tile for each of the warps,
//! and b is R rows of another.
template <int R, class Rounded, int Columns>
__device__ __forceinline__ void multiply_by_rows(
    WarpPiece (&scores)[R / 8], WarpgroupTile<WarpgroupProducts<Rounded>, Columns> a, int first,
    WarpgroupTile<WarpgroupProducts<Rounded>, Columns> b) {
  static_assert(R == 64);
  const ptx::WgmmaFactor left = a.from_row(first / 64 * 64).factor(), right = b.factor();
  ptx::begin_wgmma(scores);
#pragma unroll
  for (int column = 0; column < Columns; column += 16) {
    const int bytes = a.bytes_to(0, column);
    ptx::wgmma_by_rows<Rounded>(scores, left.descriptor(bytes), right.descriptor(bytes),
                                column > 0);
  }
  ptx::end_wgmma(scores);
}

//! sums (64, Columns) += weights (64, R) b, where b is the R rows of a tile.
template <int R, class Rounded, int Columns>
__device__ __forceinline__ void add_weighted_rows(
    WarpPiece (&sums)[Columns / 8], const WarpPiece (&weights)[R / 8],
    WarpgroupTile<WarpgroupProducts<Rounded>, Columns> b) {
  using Products = RoundedProducts<Rounded>;
  constexpr int steps = R / Products::terms;
  typename Products::Left left[steps];
#pragma unroll
  for (int step = 0; step < steps; ++step) left[step] = Products::left(weights, step);
  const ptx::WgmmaFactor right = b.factor();
  for (auto& of_step : left) ptx::hold(of_step.words);
  ptx::begin_wgmma(sums);
#pragma unroll
  for (int column = 0; column < Columns; column += 64) {
    auto& pieces = reinterpret_cast<WarpPiece(&)[8]>(sums[column / 8]);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      ptx::wgmma_weighted<Rounded>(pieces, left[step].words,
                                   right.descriptor(b.bytes_to(16 * step, column)));
    }
  }
  ptx::end_wgmma(sums);
  for (auto& of_step : left) ptx::hold(of_step.words);
}

}  // namespace weft::ops::detail
