// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A kernel that stops itself: from then on its GPU does nothing, and every call fails.
#pragma once

#include <atomic>
#include <string>

namespace emulator {

//! Thrown by the instruction that stops a kernel.
struct Fault {
  std::string where;
};

//! Whether a kernel has stopped itself. As no process gets over it, it is of all GPUs.
inline std::atomic<bool>& has_faulted() {
  static std::atomic<bool> any{false};
  return any;
}

}  // namespace emulator
