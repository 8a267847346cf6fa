// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A launch: its blocks one after the other, the warps of each in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "counts_file.hpp"
#include "memory.hpp"
#include "warp.hpp"

namespace emulator {

//! Warps of a group have come to the same products.
inline void expect_same_products(std::vector<Warp>& warps) {
  for (std::size_t i = 0; i < warps.size(); ++i) {
    if (warps[i].products() != warps[i / 4 * 4].products()) {
      warps[i].refuse("comes to other products than its warpgroup", 0);
    }
  }
  for (Warp& warp : warps) warp.forget_products();
}

//! Runs the warps of a block to their end. Every other time they take turns from the last on.
inline void run_block(Block& block, std::vector<Warp>& warps) {
  block.begin();
  for (Warp& warp : warps) warp.begin();
  bool any = true;
  for (bool backwards = false; any; backwards = !backwards) {
    for (std::size_t i = 0; i < warps.size(); ++i) {
      Warp& warp = warps[backwards ? warps.size() - 1 - i : i];
      if (warp.state() == Warp::State::runs) warp.run();
    }
    // All have come to the barrier, or ended.
    expect_same_products(warps);
    block.pass_barrier();
    any = false;
    for (Warp& warp : warps) {
      if (warp.state() != Warp::State::at_barrier) continue;
      warp.pass_barrier();
      any = true;
    }
  }
}

//! Runs a kernel. Ends the program at what a GPU would fault at.
//!
//! **Errors.** Fault if the kernel stops itself.
inline void run_kernel(const Kernel& kernel, Triple blocks, Triple threads,
                       std::size_t shared_bytes, const std::byte* parameters, int gpu) {
  const unsigned count = threads.x * threads.y * threads.z;
  if (count == 0 || count > kernel.most_threads) {
    unknown("a launch of " + std::to_string(count) + " threads of " + kernel.name);
  }
  Counts& counts = CountsFile::of_all().of(kernel);
  ++counts.launches;
  counts.blocks += blocks.x * blocks.y * blocks.z;
  counts.visits.resize(kernel.instructions.size());
  // What a launch leaves is as what a block leaves: its waits count on.
  static thread_local Block block;
  block.kernel = &kernel;
  block.parameters = parameters;
  block.threads = threads;
  block.blocks = blocks;
  block.gpu = gpu;
  block.counts = &counts;
  block.shared.resize(kernel.static_shared_bytes + shared_bytes);
  block.history.begin_launch(block.shared.size());
  block.serial = Memory::of_all().begin_launch(blocks.x * blocks.y * blocks.z);
  static thread_local std::vector<Warp> warps;
  warps.resize((count + warp_size - 1) / warp_size);
  for (unsigned w = 0; w < warps.size(); ++w) warps[w].prepare(block, w);
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x, ++block.serial) {
        block.number = {x, y, z};
        run_block(block, warps);
      }
    }
  }
}

}  // namespace emulator
