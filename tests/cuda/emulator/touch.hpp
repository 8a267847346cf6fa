// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which threads touched a byte of memory, and whether two did so without waiting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "byte_records.hpp"

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

//! Whether nothing puts one touch before another, of threads of one block.
inline bool conflicts(const Touch& before, const Touch& now) {
  constexpr unsigned lanes = 32;
  if (before.block_waits != now.block_waits) return false;
  if (before.by_other_warps || before.thread / lanes != now.thread / lanes) return true;
  if (before.warp_waits != now.warp_waits) return false;
  return before.by_other_lanes || before.thread != now.thread;
}

//! Makes it the touch of a byte, and keeps in mind who else has touched that since all waited.
inline void remember(Touch& of_byte, Touch now) {
  constexpr unsigned lanes = 32;
  if (of_byte.block_waits == now.block_waits) {
    const bool same_warp = of_byte.thread / lanes == now.thread / lanes;
    now.by_other_warps = of_byte.by_other_warps || !same_warp;
    if (same_warp && of_byte.warp_waits == now.warp_waits) {
      now.by_other_lanes = of_byte.by_other_lanes || of_byte.thread != now.thread;
    }
  }
  of_byte = now;
}

//! What shared memory's bytes have been through. What was before a block began, in this launch or
//! one before, is as what was before it waited last.
class SharedHistory {
 public:
  void begin_launch(std::size_t bytes) {
    if (bytes > bytes_.size()) {
      bytes_ = ByteRecords<Touches>(bytes);
    } else if (bytes > 0) {
      bytes_.forget_bytes();
    }
  }

  //! Whether the bytes were touched in an order that nothing promised. Atomics have an order.
  bool races(std::size_t begin, std::size_t bytes, Access access, Touch now) {
    now.is_atomic = access == Access::atomic;
    return !bytes_.all_of(begin, bytes, [&](Touches& of) {
      const bool both_atomic = now.is_atomic && of.write.is_atomic;
      if (!both_atomic && conflicts(of.write, now)) return false;
      if (access == Access::read) {
        remember(of.read, now);
        return true;
      }
      if (conflicts(of.read, now)) return false;
      if (both_atomic) {
        remember(of.write, now);
      } else {
        of.write = now;
      }
      return true;
    });
  }

 private:
  struct Touches {
    Touch write, read;
  };
  ByteRecords<Touches> bytes_;
};

}  // namespace emulator
