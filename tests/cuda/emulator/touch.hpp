// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which threads touched a byte of shared memory, and whether two did so without waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

enum class Access { read, write, atomic, volatile_read };

//! A touch: by which thread, and how often its block (and those before it) and its warp had waited
//! before.
struct Touch {
  std::uint32_t block_waits = 0, warp_waits = 0;
  std::uint16_t thread = 0;
  bool by_other_lanes = false, by_other_warps = false;  // as well
  bool is_atomic = false;
};

//! What shared memory's bytes have been through. What was before a block began is as what was
//! before it waited last.
class SharedHistory {
 public:
  void resize(std::size_t bytes) {
    writes_.resize(bytes);
    reads_.resize(bytes);
  }

  //! Whether the bytes were touched in an order that nothing promised. Atomics have an order.
  bool races(std::size_t begin, std::size_t bytes, Access access, Touch now) {
    bool found = false;
    now.is_atomic = access == Access::atomic;
    for (std::size_t i = begin; i < begin + bytes; ++i) {
      const bool both_atomic = now.is_atomic && writes_[i].is_atomic;
      if (!both_atomic && conflicts(writes_[i], now)) found = true;
      if (access == Access::read) {
        remember(reads_[i], now);
        continue;
      }
      if (conflicts(reads_[i], now)) found = true;
      if (both_atomic) {
        remember(writes_[i], now);
      } else {
        writes_[i] = now;
      }
    }
    return found;
  }

 private:
  static constexpr unsigned lanes = 32;

  //! Whether nothing puts one touch before the other.
  static bool conflicts(const Touch& before, const Touch& now) {
    if (before.block_waits != now.block_waits) return false;
    if (before.by_other_warps || before.thread / lanes != now.thread / lanes) return true;
    if (before.warp_waits != now.warp_waits) return false;
    return before.by_other_lanes || before.thread != now.thread;
  }

  static void remember(Touch& of_byte, Touch now) {
    if (of_byte.block_waits == now.block_waits) {
      const bool same_warp = of_byte.thread / lanes == now.thread / lanes;
      now.by_other_warps = of_byte.by_other_warps || !same_warp;
      if (same_warp && of_byte.warp_waits == now.warp_waits) {
        now.by_other_lanes = of_byte.by_other_lanes || of_byte.thread != now.thread;
      }
    }
    of_byte = now;
  }

  std::vector<Touch> writes_, reads_;
};

}  // namespace emulator
