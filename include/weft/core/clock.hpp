// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Time that passes.
#pragma once

#include <chrono>

#include <weft/core/version.hpp>

namespace weft {

//! Seconds since some moment before the program began, by a clock that nobody sets.
[[nodiscard]] inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft
