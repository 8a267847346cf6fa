// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the warps of a block share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "counts.hpp"
#include "program.hpp"
#include "touch.hpp"

namespace emulator {

//! Numbers of threads, or of blocks.
struct Triple {
  unsigned x = 1, y = 1, z = 1;
};

//! A block of a launch; one after the other takes its place.
struct Block {
  const Kernel* kernel = nullptr;
  const std::byte* parameters = nullptr;
  Triple threads, blocks, number;
  std::uint32_t serial = 0;  // among all blocks of all launches
  int gpu = 0;
  std::vector<std::byte> shared;
  SharedHistory history;
  std::uint32_t waits = 0;               // how often all have come, here and in blocks before
  bool any = false, any_of_all = false;  // what a barrier's reduction finds, and found
  std::vector<bool> being_copied;        // of every 16 bytes of `shared`
  // Of kernels with products of warpgroups: which thread wrote a byte of `shared` after how many of
  // its fences, and how many each thread has passed, now and when all came to the last barrier.
  struct Written {
    std::uint16_t thread = 0, fences = 0;
    bool any = false;
  };
  std::vector<Written> written;
  std::vector<std::uint16_t> fences, fences_at_barrier;
  Counts* counts = nullptr;

  //! Shared memory begins as NaN.
  void begin() {
    ++waits;
    any = false;
    std::fill(shared.begin(), shared.end(), std::byte{0xff});
    being_copied.assign(shared.size() / 16 + 1, false);
    if (kernel->has_wgmma) {
      written.assign(shared.size(), {});
      fences.assign(threads.x * threads.y * threads.z, 0);
      fences_at_barrier = fences;
    }
  }

  //! A thread writes to shared memory.
  void note_written(std::uint64_t address, unsigned bytes, unsigned thread) {
    if (!kernel->has_wgmma) return;
    for (unsigned i = 0; i < bytes; ++i) {
      written[address + i] = {static_cast<std::uint16_t>(thread), fences[thread], true};
    }
  }
  //! What a thread has written can be read by products after the next barrier.
  void show(unsigned thread) { ++fences[thread]; }
  [[nodiscard]] bool is_shown(std::uint64_t address, unsigned bytes) const {
    const auto first = written.begin() + static_cast<std::ptrdiff_t>(address);
    return std::all_of(first, first + bytes, [&](const Written& byte) {
      return !byte.any || byte.fences < fences_at_barrier[byte.thread];
    });
  }

  //! A copy of 16 bytes begins or ends.
  void mark_copies(std::uint64_t address, bool begins) { being_copied[address / 16] = begins; }
  //! Whether bytes are, of which 16 are a multiple.
  [[nodiscard]] bool is_being_copied(std::uint64_t address) const {
    return being_copied[address / 16];
  }

  //! All warps have come.
  void pass_barrier() {
    ++waits;
    any_of_all = std::exchange(any, false);
    fences_at_barrier = fences;
  }
};

}  // namespace emulator
