// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Small matrix products of a warp: 16 of its rows with the rows of a tile in shared memory.
//!
//! A result (16, 8 n) lies in registers as n pieces (16, 8) of `mma`: lane 4 g + t has the rows g
//! and g + 8 of each, at columns 2 t and 2 t + 1.
#pragma once

#include <cstdint>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>
#include <weft/core/host_device.hpp>
#include <weft/device/ptx.cuh>

namespace weft::ops::detail {

//! Numbers of a piece of 16 rows and 8 columns that one lane has.
using WarpPiece = float[4];

//! Rows of `Columns` numbers in shared memory. They lie 4 words more apart than they are long: 8
//! rows that are read at once, 4 neighbouring words of each, meet no bank twice.
template <class Products, int Columns>
struct WarpTile {
  static constexpr int stride = Columns / Products::per_word + 4;  // words

  std::uint32_t* words;

  [[nodiscard]] __device__ std::uint32_t* row(int number) const { return words + number * stride; }
  //! Where 16 bytes of a row begin.
  [[nodiscard]] __device__ std::uint32_t* chunk(int number, int which) const {
    return row(number) + 4 * which;
  }
  //! The rows from one on.
  [[nodiscard]] __device__ WarpTile from_row(int number) const { return {row(number)}; }
  //! The words of so many rows.
  WEFT_HOST_DEVICE static constexpr int size(int rows) { return rows * stride; }
};

//! What products of a warp by `mma` ask of a kernel.
struct WarpProducts {
  static constexpr bool are_compiled = true;  //!< whether the GPU that is compiled for has them
  static constexpr int warps = 1;             //!< that multiply together
  //! Shared memory of a block: two have room on an SM of Hopper.
  static constexpr int block_bytes = 113 * 1024;
  //! The most columns of a head of which sums and scores fit into 128 registers a thread.
  static constexpr int columns_of_128_registers = 128;

  //! Lets products see what this thread has written to shared memory, once the others see it.
  __device__ static void show_written() {}
};

//! Products of factors that are rounded to Bfloat16 or Float16, in float.
template <class Rounded>
struct RoundedProducts : WarpProducts {
  using Number = Rounded;                    //!< what factors are rounded to
  static constexpr bool rounds = true;       //!< whether they are rounded
  static constexpr int per_word = 2;         //!< numbers in a word of shared memory
  static constexpr int terms = 16;           //!< that one `mma` adds up
  static constexpr int least_columns = 16;   //!< of a head
  static constexpr bool adds_apart = false;  //!< whether a tile's sums have to be
  template <int Columns>
  using Tile = WarpTile<RoundedProducts, Columns>;  //!< rows in shared memory

  struct Left {
    std::uint32_t words[4];
  };

  //! A word of two neighbours.
  __device__ static std::uint32_t word(const float (&x)[per_word]) {
    return ptx::rounded_pair<Rounded>(x[0], x[1]);
  }

  //! The left factor from words as they lie in a row, or as `mma` has them.
  __device__ static Left left(const std::uint32_t (&words)[4]) {
    return {{words[0], words[1], words[2], words[3]}};
  }

  //! The left factor from columns 16 `step` to 16 `step` + 15 of a result.
  __device__ static Left left(const WarpPiece* pieces, int step) {
    const WarpPiece &low = pieces[2 * step], &high = pieces[2 * step + 1];
    return {{ptx::rounded_pair<Rounded>(low[0], low[1]), ptx::rounded_pair<Rounded>(low[2], low[3]),
             ptx::rounded_pair<Rounded>(high[0], high[1]),
             ptx::rounded_pair<Rounded>(high[2], high[3])}};
  }

  __device__ static void multiply(WarpPiece& d, const Left& a, std::uint32_t b0, std::uint32_t b1) {
    ptx::multiply<Rounded>(d, a.words, b0, b1);
  }

  //! d[0], d[1] += a b, where b is rows 16 `step` to 16 `step` + 15 of a tile, at columns n to n +
  //! 7 and n + 8 to n + 15.
  template <int Pieces, int Columns>
  __device__ static void multiply_rows(WarpPiece* d, const Left& a,
                                       WarpTile<RoundedProducts, Columns> tile, int step, int n) {
    static_assert(Pieces == 2);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    std::uint32_t b[4];
    ptx::load_transposed(b, tile.row(step * terms + lane % 16) + n / 2 + lane / 16 * 4);
    multiply(d[0], a, b[0], b[1]);
    multiply(d[1], a, b[2], b[3]);
  }
};

//! Products of floats by tensor cores. Each factor is a number of 10 bits of fraction and another
//! for what is missing, and of the four products the three that matter are added: what is lost of
//! factors is 2^-21 of a term.
//!
//! Tensor cores cut off what does not fit into a sum, where floats are rounded. So a tile's sums
//! begin at 0 and are added as floats: a mean over 4,000 keys is off by 5e-7 of itself, and would
//! be too small by 1.2e-5 (emulated).
struct FloatProducts : WarpProducts {
  static constexpr bool rounds = false;     //!< whether factors are rounded
  static constexpr int per_word = 1;        //!< numbers in a word of shared memory
  static constexpr int terms = 8;           //!< that one `mma` adds up
  static constexpr int least_columns = 8;   //!< of a head
  static constexpr bool adds_apart = true;  //!< whether a tile's sums have to be
  template <int Columns>
  using Tile = WarpTile<FloatProducts, Columns>;  //!< rows in shared memory

  //! A float as the sum of two.
  struct Split {
    std::uint32_t large, small;

    __device__ explicit Split(float x) {
      large = ptx::tf32(x);
      // The bits that tf32 does not have are the processor's to choose.
      small = ptx::tf32(x - __uint_as_float(large & ~0x1fffu));
    }
  };

  struct Left {
    std::uint32_t large[4], small[4];
  };

  //! A word of one number.
  __device__ static std::uint32_t word(const float (&x)[per_word]) { return __float_as_uint(x[0]); }

  //! The left factor from words as they lie in a row, or as `mma` has them.
  __device__ static Left left(const std::uint32_t (&words)[4]) {
    Left made;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Split split(__uint_as_float(words[i]));
      made.large[i] = split.large;
      made.small[i] = split.small;
    }
    return made;
  }

  //! The left factor from columns 8 `step` to 8 `step` + 7 of a result, in the order 0, 2, 4, 6, 1,
  //! 3, 5, 7: so they are where `mma` wants them, and a sum may be taken in any order.
  __device__ static Left left(const WarpPiece* pieces, int step) {
    const WarpPiece& piece = pieces[step];
    return left({__float_as_uint(piece[0]), __float_as_uint(piece[2]), __float_as_uint(piece[1]),
                 __float_as_uint(piece[3])});
  }

  __device__ static void multiply(WarpPiece& d, const Left& a, std::uint32_t b0, std::uint32_t b1) {
    const Split first(__uint_as_float(b0)), second(__uint_as_float(b1));
    ptx::multiply_tf32(d, a.small, first.large, second.large);
    ptx::multiply_tf32(d, a.large, first.small, second.small);
    ptx::multiply_tf32(d, a.large, first.large, second.large);
  }

  //! Each d[i] += a b, where b is rows 8 `step` to 8 `step` + 7 of a tile, in the order of `left`,
  //! at columns n + 8 i to n + 8 i + 7.
  template <int Pieces, int Columns>
  __device__ static void multiply_rows(WarpPiece* d, const Left& a,
                                       WarpTile<FloatProducts, Columns> tile, int step, int n) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint32_t* const even = tile.row(step * terms + lane % 4 * 2) + n + lane / 4;
    const std::uint32_t* const odd = even + tile.stride;
#pragma unroll
    for (int i = 0; i < Pieces; ++i) multiply(d[i], a, even[8 * i], odd[8 * i]);
  }
};

//! Makes a result 0.
template <int N>
__device__ void clear(WarpPiece (&pieces)[N]) {
#pragma unroll
  for (WarpPiece& piece : pieces) {
    for (float& element : piece) element = 0.0f;
  }
}

//! scores (16, R) = a b', where a is rows `first` to `first` + 15 of a tile and b is R rows of
//! another.
template <int R, class Products, int Columns>
__device__ void multiply_by_rows(WarpPiece (&scores)[R / 8], WarpTile<Products, Columns> a,
                                 int first, WarpTile<Products, Columns> b) {
  static_assert(R % 16 == 0);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  clear(scores);
  // `mma` wants words t and t + 4 of rows g and g + 8 of a, and of row g of each 8 rows of b.
  const std::uint32_t* const left_row = a.row(first + lane % 16) + lane / 16 * 4;
  const std::uint32_t* const right_row = b.row(lane / 16 * 8 + lane % 8) + lane / 8 % 2 * 4;
#pragma unroll 2
  for (int word = 0; word < Columns / Products::per_word; word += 8) {
    std::uint32_t words[4];
    ptx::load_matrices(words, left_row + word);
    const auto left = Products::left(words);
#pragma unroll
    for (int n = 0; n < R / 8; n += 2) {
      ptx::load_matrices(words, right_row + n * 8 * b.stride + word);
      Products::multiply(scores[n], left, words[0], words[1]);
      Products::multiply(scores[n + 1], left, words[2], words[3]);
    }
  }
}

//! sums (16, Columns) += weights (16, R) b, where b is the R rows of a tile.
template <int R, class Products, int Columns>
__device__ void add_weighted_rows(WarpPiece (&sums)[Columns / 8], const WarpPiece (&weights)[R / 8],
                                  WarpTile<Products, Columns> b) {
  constexpr int N = Columns / 8;
  constexpr int steps = R / Products::terms;
  constexpr int together = N < 2 ? 1 : 2;
  typename Products::Left left[steps];
#pragma unroll
  for (int step = 0; step < steps; ++step) left[step] = Products::left(weights, step);
#pragma unroll
  for (int n = 0; n < N; n += together) {
    WarpPiece apart[together] = {};
    WarpPiece* const pieces = Products::adds_apart ? apart : &sums[n];
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Products::template multiply_rows<together>(pieces, left[step], b, step, n * 8);
    }
    if constexpr (Products::adds_apart) {
#pragma unroll
      for (int i = 0; i < 4 * together; ++i) sums[n + i / 4][i % 4] += apart[i / 4][i % 4];
    }
  }
}

//! Calls `f(element, lower, column)` for the lane's elements of a result: `lower` is 0 for those of
//! row g and 1 for those of row g + 8.
template <int N, class F>
__device__ void for_each_element(WarpPiece (&pieces)[N], F f) {
  const int t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) f(pieces[n][i], i / 2, n * 8 + t * 2 + i % 2);
  }
}

//! Calls `f(element of a, element of b, lower, column)` for those of two results.
template <int N, class F>
__device__ void for_each_element(WarpPiece (&a)[N], WarpPiece (&b)[N], F f) {
  const int t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) f(a[n][i], b[n][i], i / 2, n * 8 + t * 2 + i % 2);
  }
}

//! Over the lanes that share a row of a result.
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

//! Over the lanes that share a row of a result.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

}  // namespace weft::ops::detail
