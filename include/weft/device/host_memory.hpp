// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The system's memory.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include <weft/core/index.hpp>
#include <weft/device/memory_source.hpp>

namespace weft {

//! The system's memory, in ranges of addresses that grow in their place: addresses as far as the
//! machine has memory, up to 64 GiB, of which no more is asked for than is used; see decision 0021.
//!
//! Blocks are aligned to a cache line. Pages are of 2 MiB where the system has them: a training
//! step of the base Transformer takes a tenth less time.
struct HostMemory {
  //! At least so many bytes with addresses behind them, or none.
  static Segment request(index_t bytes) {
    const index_t ahead = std::max(bytes, addresses()), least = std::max(bytes, least_segment);
    Segment segment = ahead > least ? take(ahead, bytes) : Segment{};
    if (segment.data == nullptr) segment = take(least, least);
    if (segment.data == nullptr) segment = take(bytes, bytes);
    return segment;
  }

  //! Asks for at least so many of the bytes behind a segment; false if the system has no more.
  static bool grow(Segment& segment, index_t bytes) {
    const index_t more = round_up(bytes);
    if (mprotect(segment.data + segment.size, static_cast<std::size_t>(more),
                 PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    segment.size += more;
    return true;
  }

  //! Gives memory and addresses back, unless they are kept.
  static void give_back(const Segment& segment) {
    if (kept.load(std::memory_order_relaxed)) return;
    munmap(segment.data, static_cast<std::size_t>(segment.room));
  }

  //! From now on the process keeps what it has: another one may still read it. For ranks that end.
  static void keep() { kept.store(true, std::memory_order_relaxed); }

 private:
  static inline std::atomic<bool> kept = false;
  static constexpr index_t page = index_t{2} << 20;

  static index_t round_up(index_t bytes) { return (bytes + page - 1) / page * page; }

  //! `bytes` of memory in a range of addresses with `room`, or none.
  static Segment take(index_t room, index_t bytes) {
    Segment segment = reserve(room);
    if (segment.data == nullptr || grow(segment, bytes)) return segment;
    give_back(segment);
    return {};
  }

  //! Addresses that begin at a page, and no memory.
  static Segment reserve(index_t bytes) {
    const index_t room = round_up(bytes);
    void* const reserved = mmap(nullptr, static_cast<std::size_t>(room + page), PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) return {};
    auto* const first = static_cast<std::byte*>(reserved);
    const auto before =
        round_up(reinterpret_cast<index_t>(first)) - reinterpret_cast<index_t>(first);
    if (before > 0) munmap(first, static_cast<std::size_t>(before));
    munmap(first + before + room, static_cast<std::size_t>(page - before));
    madvise(first + before, static_cast<std::size_t>(room), MADV_HUGEPAGE);  // a wish
    return {first + before, 0, room};
  }

  //! How many bytes a range has room for, if that is not to be decided by what is asked for. Where
  //! addresses are limited (`ulimit -v`), those that are reserved would be missing elsewhere; where
  //! they are not, a process has 2^47, and a thread sanitizer leaves it 2^40, for many devices.
  static index_t addresses() {
    rlimit limit{};
    struct sysinfo machine {};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ||
        sysinfo(&machine) != 0) {
      return 0;
    }
    const auto memory =
        static_cast<index_t>((machine.totalram + machine.totalswap) * machine.mem_unit);
    return std::min(memory, index_t{64} << 30);
  }
};

//! The same, as arenas take it.
inline constexpr MemorySource host_memory{64, HostMemory::request, HostMemory::give_back,
                                          HostMemory::grow};

}  // namespace weft
