// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The memory of simulated GPUs: that of each is closed to the others' kernels.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace simulator {

//! How many GPUs there are.
inline int gpus() {
  static const char* const wanted = std::getenv("SIMULATED_GPUS");
  static const int count = wanted == nullptr ? 1 : std::atoi(wanted);
  return count;
}

//! In place of a GPU's number.
inline constexpr int every_gpu = -1;

//! What the GPUs have given out, and which of them a kernel of whom may touch now.
class Memory {
 public:
  static Memory& of_all() {
    static Memory memory;
    return memory;
  }

  //! Null if there is no more. Its bytes are those of NaN.
  void* allocate(std::size_t bytes, int gpu) {
    const std::lock_guard lock(mutex_);
    const std::size_t size = bytes == 0 ? 1 : bytes;
    void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    std::memset(data, 0xff, size);
    const auto place = pieces_.insert({data, {size, gpu}}).first;
    protect(*place);
    return data;
  }

  void free(void* data) {
    const std::lock_guard lock(mutex_);
    const auto place = pieces_.find(data);
    if (place == pieces_.end()) return;
    munmap(data, place->second.bytes);
    pieces_.erase(place);
  }

  //! The GPU whose memory that is, or -1.
  [[nodiscard]] int gpu_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    auto piece = pieces_.upper_bound(const_cast<void*>(data));
    if (piece == pieces_.begin()) return -1;
    --piece;
    const auto* const end = static_cast<const std::byte*>(piece->first) + piece->second.bytes;
    return static_cast<const std::byte*>(data) < end ? piece->second.gpu : -1;
  }

  //! From now on a touch of another GPU's memory ends the program.
  void open_to(int gpu) {
    const std::lock_guard lock(mutex_);
    if (gpus() == 1 || gpu == open_to_) return;
    open_to_ = gpu;
    for (const auto& piece : pieces_) protect(piece);
  }

 private:
  struct Piece {
    std::size_t bytes;
    int gpu;
  };

  void protect(const std::pair<void* const, Piece>& piece) {
    const bool open = open_to_ == every_gpu || piece.second.gpu == open_to_;
    mprotect(piece.first, piece.second.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  mutable std::mutex mutex_;
  std::map<void*, Piece> pieces_;
  int open_to_ = every_gpu;
};

//! Lets the next kernel touch the memory of its GPU alone.
inline void open_memory_to(int gpu) { Memory::of_all().open_to(gpu); }

}  // namespace simulator
