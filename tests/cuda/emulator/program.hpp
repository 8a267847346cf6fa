// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A kernel as the emulator runs it: instructions whose operands are places of registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emulator {

//! A bit for each lane of a warp.
using Mask = std::uint32_t;
inline constexpr unsigned warp_size = 32;
inline constexpr Mask all_lanes = ~Mask{0};

class Warp;

//! What an instruction does to its warp's way.
enum class Flow { next, branch, leave, barrier, all_together };

//! What is counted of an instruction.
enum class Kind {
  arithmetic,
  move,
  special,
  tensor,
  global_load,
  global_store,
  shared,
  local,
  control,
  count
};

struct Instruction {
  using Run = void (*)(Warp&, const Instruction&, Mask);
  static constexpr std::uint32_t no_register = ~std::uint32_t{0};

  Run run = nullptr;
  Flow flow = Flow::next;
  Kind kind = Kind::arithmetic;
  //! Where registers begin in a warp's; results first.
  std::uint32_t operands[14] = {};
  //! The predicate that lanes need, or that they must not have.
  std::uint32_t guard = no_register;
  bool guard_is_negated = false;
  //! Of a branch: the instruction that comes next.
  std::uint32_t target = 0;
  //! Of a load or a store: what is added to the address of so many bytes; how many elements it
  //! moves of so many bytes to or from registers of so many.
  std::int64_t offset = 0;
  unsigned address_bytes = 8, elements = 1, element_bytes = 4, register_bytes = 4;
  bool is_signed = false;
  std::string_view text;
};

//! A register that a block or a thread has a number in.
enum class Special {
  thread_x,
  thread_y,
  thread_z,
  block_x,
  block_y,
  block_z,
  threads_x,
  threads_y,
  threads_z,
  blocks_x,
  blocks_y,
  blocks_z,
  lane,
  lanes_to_here
};

struct Kernel {
  std::string name;
  int architecture = 0;  // that its PTX is for: 80
  std::vector<std::size_t> parameter_offsets, parameter_bytes;
  std::size_t parameters = 0;  // bytes of all
  std::size_t most_threads = 1024;
  std::size_t local_bytes = 0, static_shared_bytes = 0;
  std::vector<std::byte> registers;  // of a warp, as a launch finds them
  std::vector<Instruction> instructions;
  std::vector<std::pair<std::uint32_t, Special>> specials;
  std::vector<std::vector<std::uint32_t>> lists;  // operands of instructions that have many
  bool has_wgmma = false;
};

}  // namespace emulator
