// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Instructions of a whole warp: exchanges, votes, matrices.
//!
//! **Source.** PTX ISA, NVIDIA: shfl, vote, bar, ldmatrix, mma.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

#include "memory_access.hpp"
#include "tensor_core.hpp"
#include "warp.hpp"

namespace emulator {

enum class Exchange { up, down, butterfly, index };

//! d = another lane's a. operands: d, a, b, c, mask; then, with `has_predicate`, whether there is
//! such a lane.
template <Exchange E, bool has_predicate>
void shuffle(Warp& warp, const Instruction& now, Mask lanes) {
  const auto* const a = warp.at<std::uint32_t>(now.operands[1]);
  const auto* const b = warp.at<std::uint32_t>(now.operands[2]);
  const auto* const c = warp.at<std::uint32_t>(now.operands[3]);
  std::uint32_t results[warp_size];
  Mask inside = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    const unsigned by = b[lane] & 31u, clamp = c[lane] & 31u, segment = c[lane] >> 8 & 31u;
    const unsigned highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    unsigned from = lane;
    bool exists = false;
    switch (E) {
      case Exchange::up:
        // Signed: the clamp of `up` is the lowest lane.
        exists = static_cast<int>(lane) - static_cast<int>(by) >= static_cast<int>(highest);
        from = lane - by;
        break;
      case Exchange::down:
        from = lane + by;
        exists = from <= highest;
        break;
      case Exchange::butterfly:
        from = lane ^ by;
        exists = from <= highest;
        break;
      case Exchange::index:
        from = lowest | (by & ~segment);
        exists = from <= highest;
        break;
    }
    if (!exists) from = lane;
    if ((lanes >> from & 1u) == 0) warp.refuse("reads a lane that takes no part", lane);
    inside |= Mask{exists} << lane;
    results[lane] = a[from];
  }
  auto* const d = warp.at<std::uint32_t>(now.operands[0]);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) != 0) d[lane] = results[lane];
  }
  if constexpr (has_predicate) {
    Mask& p = warp.mask(now.operands[5]);
    p = (p & ~lanes) | inside;
  }
}

//! d = the lanes in which a predicate holds.
inline void ballot(Warp& warp, const Instruction& now, Mask lanes) {
  const Mask found = warp.mask(now.operands[1]) & lanes;
  auto* const d = warp.at<std::uint32_t>(now.operands[0]);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) != 0) d[lane] = found;
  }
}

inline void wait_for_warp(Warp& warp, const Instruction&, Mask) { warp.count_wait(); }

//! A predicate: whether another holds in any thread of the block. After the barrier.
inline void any_of_block(Warp& warp, const Instruction& now, Mask lanes) {
  Mask& d = warp.mask(now.operands[0]);
  d = warp.block().any_of_all ? d | lanes : d & ~lanes;
}

//! Four matrices of 8 x 8 numbers of 16 bits.
template <bool transposed>
void load_matrices(Warp& warp, const Instruction& now, Mask lanes) {
  std::uint64_t addresses[warp_size];
  std::uint16_t rows[warp_size][8];
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    addresses[lane] = address_of(warp, now, now.operands[4], lane);
    std::memcpy(rows[lane], bytes_at<Space::shared>(warp, addresses[lane], 16, lane, Access::read),
                16);
  }
  count_request<Space::shared>(warp, addresses, lanes, 16);
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      const auto* const of_matrix = rows + matrix * 8;
      const std::uint32_t first = transposed ? of_matrix[2 * t][g] : of_matrix[g][2 * t];
      const std::uint32_t second = transposed ? of_matrix[2 * t + 1][g] : of_matrix[g][2 * t + 1];
      warp.at<std::uint32_t>(now.operands[matrix])[lane] = first | second << 16;
    }
  }
}

//! d = a b + c for matrices (16, K) and (K, 8), where a word has `sizeof(word) / sizeof(Number)` of
//! K.
template <class Number>
void multiply_matrices(Warp& warp, const Instruction& now, Mask) {
  constexpr unsigned in_word = sizeof(std::uint32_t) / sizeof(Number), inner = 8 * in_word;
  float a[16][inner], b[inner][8];
  const auto number = [](std::uint32_t word, unsigned which) {
    Number read;
    std::memcpy(&read, reinterpret_cast<const char*>(&word) + which * sizeof read, sizeof read);
    return static_cast<float>(read);
  };
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned w = 0; w < 4; ++w) {
      for (unsigned i = 0; i < in_word; ++i) {
        a[g + 8 * (w % 2)][in_word * (t + 4 * (w / 2)) + i] =
            number(warp.at<std::uint32_t>(now.operands[4 + w])[lane], i);
      }
    }
    for (unsigned w = 0; w < 2; ++w) {
      for (unsigned i = 0; i < in_word; ++i) {
        b[in_word * (t + 4 * w) + i][g] =
            number(warp.at<std::uint32_t>(now.operands[8 + w])[lane], i);
      }
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    // Two columns a lane.
    const auto sum = [&](unsigned result, unsigned column) -> float& {
      const std::uint32_t place = now.operands[result + 2 * (row / 8) + column % 2];
      return warp.at<float>(place)[row % 8 * 4 + column / 2];
    };
    std::array<float, 8> sums;
    for (unsigned column = 0; column < 8; ++column) sums[column] = sum(10, column);
    for (unsigned half = 0; half < 2; ++half) {
      double terms[1 + inner / 2][8];
      for (unsigned column = 0; column < 8; ++column) {
        terms[0][column] = static_cast<double>(sums[column]);
        for (unsigned k = 0; k < inner / 2; ++k) {
          const unsigned at = half * (inner / 2) + k;
          terms[1 + k][column] =
              static_cast<double>(a[row][at]) * static_cast<double>(b[at][column]);
        }
      }
      sums = truncated_sums(terms);
    }
    for (unsigned column = 0; column < 8; ++column) sum(0, column) = sums[column];
  }
}

}  // namespace emulator
