// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Loads, stores and atomics, of which each address is looked up first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "memory.hpp"
#include "warp.hpp"

namespace emulator {

enum class Space { parameters, local, shared, global };

//! A lane's address.
inline std::uint64_t address_of(Warp& warp, const Instruction& now, std::uint32_t place,
                                unsigned lane) {
  const std::uint64_t base = now.address_bytes == 4 ? warp.at<std::uint32_t>(place)[lane]
                                                    : warp.at<std::uint64_t>(place)[lane];
  return base + static_cast<std::uint64_t>(now.offset);
}

//! Where the bytes at an address are; refuses what a GPU would, and what may go well there by
//! chance. `values`: what is written.
template <Space S>
std::byte* bytes_at(Warp& warp, std::uint64_t address, unsigned bytes, unsigned lane, Access access,
                    const std::byte* values = nullptr) {
  if (address % bytes != 0) {
    warp.refuse(
        "address " + std::to_string(address) + " is no multiple of " + std::to_string(bytes), lane);
  }
  Block& block = warp.block();
  const auto within = [&](std::size_t size, const char* what) {
    if (address <= size && bytes <= size - address) return;
    warp.refuse("bytes " + std::to_string(address) + " to " + std::to_string(address + bytes) +
                    " of " + std::to_string(size) + " of " + what,
                lane);
  };
  if constexpr (S == Space::parameters) {
    within(block.kernel->parameters, "parameters");
    return const_cast<std::byte*>(block.parameters) + address;
  } else if constexpr (S == Space::local) {
    within(block.kernel->local_bytes, "local memory");
    return warp.local(lane) + address;
  } else if constexpr (S == Space::shared) {
    within(block.shared.size(), "shared memory");
    if (block.history.races(address, bytes, access, warp.touch(lane)) ||
        block.is_being_copied(address)) {
      warp.refuse("byte " + std::to_string(address) + " of shared memory: a race", lane);
    }
    if (access == Access::write) block.note_written(address, bytes, warp.thread(lane));
    return block.shared.data() + address;
  } else {
    const char* const wrong = Memory::of_all().touch(address, bytes, access, block.gpu,
                                                     block.serial, warp.touch(lane), values);
    if (wrong != nullptr) warp.refuse(wrong + (": " + std::to_string(bytes)) + " bytes", lane);
    return reinterpret_cast<std::byte*>(address);
  }
}

//! Counts a warp's request.
template <Space S>
void count_request(Warp& warp, const std::uint64_t (&addresses)[warp_size], Mask lanes,
                   unsigned bytes) {
  if (lanes == 0) return;
  if constexpr (S == Space::global) warp.block().counts->add_global(addresses, lanes, bytes);
  if constexpr (S == Space::shared) warp.block().counts->add_shared(addresses, lanes, bytes);
}

//! Copies 1, 2, 4 or 8 bytes, without a call.
inline void copy_number(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    default:
      std::memcpy(to, from, 8);
  }
}

template <Space S, Access How = Access::read>
void load(Warp& warp, const Instruction& now, Mask lanes) {
  const unsigned bytes = now.elements * now.element_bytes;
  std::uint64_t addresses[warp_size] = {};
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    addresses[lane] = address_of(warp, now, now.operands[now.elements], lane);
    const std::byte* from = bytes_at<S>(warp, addresses[lane], bytes, lane, How);
    for (unsigned e = 0; e < now.elements; ++e, from += now.element_bytes) {
      std::uint64_t value = 0;
      copy_number(&value, from, now.element_bytes);
      if (now.is_signed && now.element_bytes < 8) {
        const unsigned unused = 64 - 8 * now.element_bytes;
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
      }
      copy_number(warp.at<std::byte>(now.operands[e]) + lane * now.register_bytes, &value,
                  now.register_bytes);
    }
  }
  count_request<S>(warp, addresses, lanes, bytes);
}

template <Space S>
void store(Warp& warp, const Instruction& now, Mask lanes) {
  const unsigned bytes = now.elements * now.element_bytes;
  std::uint64_t addresses[warp_size] = {};
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    addresses[lane] = address_of(warp, now, now.operands[0], lane);
    std::byte values[2 * sizeof now.operands];  // 8 an operand
    for (unsigned e = 0; e < now.elements; ++e) {
      copy_number(values + e * now.element_bytes,
                  warp.at<std::byte>(now.operands[1 + e]) + lane * now.register_bytes,
                  now.element_bytes);
    }
    std::byte* const to = bytes_at<S>(warp, addresses[lane], bytes, lane, Access::write, values);
    std::memcpy(to, values, bytes);
  }
  count_request<S>(warp, addresses, lanes, bytes);
}

//! Reads 16 bytes of global memory, or as many zeros, for `end_copies` to write. They may be
//! written at any time until then: the place is nobody else's. operands: to, from, how many are
//! read.
inline void begin_copies(Warp& warp, const Instruction& now, Mask lanes) {
  std::uint64_t from[warp_size] = {}, to[warp_size] = {};
  Mask reading = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    to[lane] = warp.at<std::uint32_t>(now.operands[0])[lane];
    Warp::Copy copy{lane, to[lane], {}};
    const std::uint32_t size = warp.at<std::uint32_t>(now.operands[2])[lane];
    if (size != 0 && size != 16) warp.refuse("copies " + std::to_string(size) + " bytes", lane);
    if (size != 0) {
      from[lane] = warp.at<std::uint64_t>(now.operands[1])[lane];
      reading |= Mask{1} << lane;
      std::memcpy(copy.bytes, bytes_at<Space::global>(warp, from[lane], 16, lane, Access::read),
                  16);
    }
    bytes_at<Space::shared>(warp, to[lane], 16, lane, Access::write);
    warp.block().mark_copies(to[lane], true);
    warp.copies.push_back(copy);
  }
  count_request<Space::global>(warp, from, reading, 16);
  count_request<Space::shared>(warp, to, lanes, 16);
}

//! Writes what the lanes have begun to copy.
inline void end_copies(Warp& warp, const Instruction&, Mask lanes) {
  std::erase_if(warp.copies, [&](const Warp::Copy& copy) {
    if ((lanes >> copy.lane & 1u) == 0) return false;
    warp.block().mark_copies(copy.to, false);
    std::byte* const to = bytes_at<Space::shared>(warp, copy.to, 16, copy.lane, Access::write);
    std::memcpy(to, copy.bytes, 16);
    return true;
  });
}

//! One more, or 0 where `last` was there.
struct AtomicIncrement {
  std::uint32_t operator()(std::uint32_t there, std::uint32_t last) const {
    return there >= last ? 0 : there + 1;
  }
};

//! d = what was there; there: `Change` of it and the operand.
template <Space S, class Change>
void atomic(Warp& warp, const Instruction& now, Mask lanes) {
  std::uint64_t addresses[warp_size] = {};
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    addresses[lane] = address_of(warp, now, now.operands[1], lane);
    std::byte* const at = bytes_at<S>(warp, addresses[lane], 4, lane, Access::atomic);
    std::uint32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    warp.at<std::uint32_t>(now.operands[0])[lane] = value;
    value = Change()(value, warp.at<std::uint32_t>(now.operands[2])[lane]);
    std::memcpy(at, &value, sizeof value);
  }
  count_request<S>(warp, addresses, lanes, 4);
}

}  // namespace emulator
