// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Allocations of a thread that fail at a chosen moment: for one source of a program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace weft::testing {

//! Allocations of more bytes fail.
inline thread_local std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
//! After so many more, one fails.
inline thread_local long allocations_left = std::numeric_limits<long>::max();

}  // namespace weft::testing

// Not inlined: g++ would warn of what is deleted by one of them and was made by the other.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (bytes > weft::testing::most_bytes || weft::testing::allocations_left-- == 0) return nullptr;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
