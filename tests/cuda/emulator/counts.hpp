// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a kernel's warps did, counted.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "program.hpp"

namespace emulator {

struct Counts {
  std::uint64_t launches = 0, blocks = 0;
  //! How often warps came to each instruction of the kernel.
  std::vector<std::uint64_t> visits;
  //! Of warps and of their lanes, by kind.
  std::array<std::uint64_t, static_cast<std::size_t>(Kind::count)> instructions{}, lanes{};
  //! Requests of warps to global memory, the sectors of 32 bytes that they touch, the bytes they
  //! asked for.
  std::uint64_t requests = 0, sectors = 0, bytes = 0;
  //! Passes over the banks of shared memory that warps took, and that the same bytes need at least.
  std::uint64_t shared_passes = 0, shared_least = 0;

  void add(Kind kind, Mask mask) {
    ++instructions[static_cast<std::size_t>(kind)];
    lanes[static_cast<std::size_t>(kind)] += static_cast<unsigned>(std::popcount(mask));
  }

  //! A request of lanes to global memory.
  void add_global(const std::uint64_t (&addresses)[warp_size], Mask mask, unsigned each) {
    std::uint64_t seen[64];
    unsigned count = 0;
    for (Mask left = mask; left != 0; left &= left - 1) {
      const std::uint64_t sector = addresses[std::countr_zero(left)] / 32;
      bool known = false;
      for (unsigned i = count; i-- > 0 && !known;) known = seen[i] == sector;
      if (!known) seen[count++] = sector;
    }
    ++requests;
    sectors += count;
    bytes += static_cast<std::uint64_t>(std::popcount(mask)) * each;
  }

  //! A request to shared memory: words of 4 bytes in 32 banks, 8 and 16 bytes by halves and
  //! quarters of the warp.
  void add_shared(const std::uint64_t (&addresses)[warp_size], Mask mask, unsigned each) {
    const unsigned lanes_at_once = each <= 4 ? 32 : each == 8 ? 16 : 8;
    for (unsigned first = 0; first < warp_size; first += lanes_at_once) {
      std::uint64_t words[32][32];  // of each bank
      unsigned of_bank[32] = {}, most = 0;
      for (unsigned lane = first; lane < first + lanes_at_once; ++lane) {
        if ((mask >> lane & 1u) == 0) continue;
        for (unsigned b = 0; b < each; b += 4) {
          const std::uint64_t word = (addresses[lane] + b) / 4;
          auto* const others = words[word % 32];
          unsigned& count = of_bank[word % 32];
          if (std::find(others, others + count, word) != others + count) continue;
          others[count++] = word;
          most = std::max(most, count);
        }
      }
      shared_passes += most;
      shared_least += most > 0 ? 1 : 0;
    }
  }
};

}  // namespace emulator
