// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Matrix products of a warpgroup, of factors of 16 bits, the second or both in shared
//! memory.
//!
//! Each warp does its 16 rows of a product when it comes to it. What a GPU does meanwhile is not
//! done, but what it would do wrong is refused: a barrier before products were waited for, a wait
//! for products that were not committed, a product that nothing has fenced, words that were written
//! and not shown to the asynchronous proxy and then a barrier, warps of a group that are not four
//! or do not come to the same products of the same factors, lanes that do not say the same of a
//! factor. (Not: a result that is read too early. The copies of results that a compiler writes
//! between two products would be taken for that.)
//!
//! **Source.** PTX ISA, NVIDIA: wgmma, its matrix descriptor, the canonical layouts of its factors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory_access.hpp"
#include "tensor_core.hpp"
#include "warp.hpp"

namespace emulator {

//! A factor in shared memory: lines of up to 64 numbers of 16 bits, 128 bytes apart, and every
//! eight of them as far as its descriptor says. Of an address bits 4 to 6 are XORed with 7 to 9.
template <class Number>
class SharedFactor {
 public:
  SharedFactor(Warp& warp, std::uint64_t descriptor)
      : warp_(warp),
        start_((descriptor & 0x3fff) << 4),
        between_((descriptor >> 32 & 0x3fff) << 4) {
    if (descriptor >> 62 != 1) warp.refuse("a factor that is not swizzled by 128 bytes", 0);
    constexpr std::uint64_t unused = 0x3ff1'c000'c000'c000;  // bits of a descriptor
    if ((descriptor & unused) != 0) warp.refuse("a factor's descriptor with bits that are none", 0);
    if ((descriptor >> 49 & 7) != 0 || start_ % 1024 >= 128) {
      warp.refuse("a factor that does not begin in the first line of a block of 1,024 bytes", 0);
    }
  }

  //! Eight numbers of a line, from the first on.
  [[nodiscard]] std::array<float, 8> eight(unsigned line, unsigned first) const {
    const std::uint64_t at = start_ + line / 8 * between_ + line % 8 * 128 + first * 2;
    const std::uint64_t address = at ^ (at >> 3 & 0x70);
    const std::byte* const bytes =
        bytes_at<Space::shared>(warp_, address, 16, /*lane=*/0, Access::read);
    if (!warp_.block().is_shown(address, 16)) {
      warp_.refuse("byte " + std::to_string(address) +
                       " of shared memory: written, but not shown by fence.proxy.async",
                   0);
    }
    std::array<Number, 8> numbers;
    std::memcpy(static_cast<void*>(numbers.data()), bytes, sizeof numbers);
    std::array<float, 8> floats{};
    for (std::size_t i = 0; i < 8; ++i) floats[i] = static_cast<float>(numbers[i]);
    return floats;
  }

 private:
  Warp& warp_;
  std::uint64_t start_, between_;
};

//! What all lanes say of a factor.
inline std::uint64_t descriptor_of_all(Warp& warp, std::uint32_t place) {
  const std::uint64_t* const of_lanes = warp.at<std::uint64_t>(place);
  for (unsigned lane = 1; lane < warp_size; ++lane) {
    if (of_lanes[lane] != of_lanes[0]) warp.refuse("another descriptor than lane 0 has", lane);
  }
  return of_lanes[0];
}

//! d (64, 64) = a b, or += if the predicate holds, where a is (64, 16). Lists of operands: d; of
//! `a` four registers a lane as of `mma`, or its descriptor, which has a row of `a` a line; b's
//! descriptor, which has a column of b a line, or a row if a is in registers; the predicate.
template <class Number, bool from_registers>
void multiply_warpgroup(Warp& warp, const Instruction& now, Mask) {
  constexpr unsigned rows = 16, inner = 16, columns = 64;
  const auto& places = warp.block().kernel->lists[now.operands[0]];
  const std::uint32_t* const d = places.data();
  const std::uint32_t* const a_places = d + 32;
  const std::uint32_t* const rest = a_places + (from_registers ? 4 : 1);
  const std::uint64_t left = from_registers ? 0 : descriptor_of_all(warp, a_places[0]);
  const std::uint64_t right = descriptor_of_all(warp, rest[0]);
  warp.add_product(left, right);
  float a[rows][inner], b[inner][columns];
  if constexpr (from_registers) {
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      for (unsigned w = 0; w < 4; ++w) {
        std::array<Number, 2> pair;
        std::memcpy(static_cast<void*>(pair.data()), warp.at<std::uint32_t>(a_places[w]) + lane, 4);
        for (unsigned i = 0; i < 2; ++i) {
          a[lane / 4 + 8 * (w % 2)][2 * (lane % 4) + 8 * (w / 2) + i] = static_cast<float>(pair[i]);
        }
      }
    }
  } else {
    const SharedFactor<Number> factor(warp, left);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned k = 0; k < inner; k += 8) {
        const auto eight = factor.eight(warp.number() % 4 * rows + row, k);
        std::memcpy(a[row] + k, eight.data(), sizeof eight);
      }
    }
  }
  const SharedFactor<Number> factor(warp, right);
  for (unsigned line = 0; line < (from_registers ? inner : columns); ++line) {
    for (unsigned first = 0; first < (from_registers ? columns : inner); first += 8) {
      const auto eight = factor.eight(line, first);
      for (unsigned i = 0; i < 8; ++i) {
        (from_registers ? b[line][first + i] : b[first + i][line]) = eight[i];
      }
    }
  }
  const bool adds = warp.mask(rest[1]) != 0;
  for (unsigned row = 0; row < rows; ++row) {
    // Two columns a lane of every eight.
    const auto sum = [&](unsigned column) -> float& {
      const std::uint32_t place = d[column / 8 * 4 + 2 * (row / 8) + column % 2];
      return warp.at<float>(place)[row % 8 * 4 + column % 8 / 2];
    };
    double terms[1 + inner][columns];
    for (unsigned column = 0; column < columns; ++column) {
      terms[0][column] = adds ? static_cast<double>(sum(column)) : 0.0;
      for (unsigned k = 0; k < inner; ++k) {
        terms[1 + k][column] = static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
      }
    }
    const auto sums = truncated_sums(terms);
    for (unsigned column = 0; column < columns; ++column) sum(column) = sums[column];
  }
}

//! What products are to read and write is there.
inline void begin_products(Warp& warp, const Instruction&, Mask) { warp.begin_products(); }
//! Those begun before are a group, which can be waited for.
inline void commit_products(Warp& warp, const Instruction&, Mask) { warp.commit_products(); }
//! All products are done.
inline void end_products(Warp& warp, const Instruction&, Mask) { warp.end_products(); }
//! What these lanes have written can be read by products.
inline void show_written(Warp& warp, const Instruction&, Mask lanes) {
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) != 0) warp.block().show(warp.number() * warp_size + lane);
  }
}

}  // namespace emulator
