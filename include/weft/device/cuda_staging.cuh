// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Pinned memory through which the host's bytes go to a GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include <cuda_runtime_api.h>

#include <weft/core/index.hpp>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_operations.cuh>
#include <weft/device/cuda_queue.cuh>

namespace weft::detail {

//! Rings of pinned buffers. A GPU copies from one while the host fills the next, so that an upload
//! waits for the stream only when a ring is full; from pageable memory each would. Large pieces
//! have a ring of two: what is pinned stays.
class CudaStaging {
 public:
  CudaStaging() = default;
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  ~CudaStaging() {
    for (Buffer& buffer : small_) buffer.free();
    for (Buffer& buffer : large_) buffer.free();
    for (void* memory : outgrown_) cudaFreeHost(memory);
  }

  //! Copies to the device in the queue's order. The host's bytes may change when it returns.
  void upload(void* to, const void* from, index_t bytes, CudaQueue& queue) {
    constexpr index_t most = index_t{32} << 20;
    for (index_t first = 0; first < bytes; first += most) {
      upload_piece(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                   std::min(bytes - first, most), queue);
    }
  }

 private:
  struct Buffer {
    void* memory = nullptr;
    index_t bytes = 0;
    CudaEvent copied;
    index_t flushes = -1;  // of the queue when it was used

    void free() const {
      if (memory != nullptr) cudaFreeHost(memory);
    }
  };

  void upload_piece(void* to, const void* from, index_t bytes, CudaQueue& queue) {
    Buffer& buffer = bytes > most_small ? large_[next_large_++ % large_.size()]
                                        : small_[next_small_++ % small_.size()];
    if (buffer.copied == nullptr) buffer.copied = make_event();
    if (buffer.flushes == queue.flushes()) queue.flush();  // the copy may not be launched yet
    expect_success(cudaEventSynchronize(buffer.copied.get()), "waiting for an upload");
    if (buffer.bytes < bytes) grow(buffer, bytes);
    std::memcpy(buffer.memory, from, static_cast<std::size_t>(bytes));
    queue.add("uploading", MemoryCopy{to, buffer.memory, static_cast<std::size_t>(bytes),
                                      cudaMemcpyHostToDevice});
    queue.record(buffer.copied.get());
    buffer.flushes = queue.flushes();
  }

  void grow(Buffer& buffer, index_t bytes) {
    constexpr index_t least = 65536;
    index_t size = buffer.bytes < least ? least : buffer.bytes;
    while (size < bytes) size *= 2;
    // To free it would wait for all that the GPU does, and that may wait for another rank.
    if (buffer.memory != nullptr) outgrown_.push_back(buffer.memory);
    buffer.memory = nullptr;
    buffer.bytes = 0;
    expect_success(cudaMallocHost(&buffer.memory, static_cast<std::size_t>(size)),
                   "allocating pinned memory");
    buffer.bytes = size;
  }

  static constexpr index_t most_small = index_t{1} << 20;

  std::array<Buffer, 32> small_;  // a micro-batch of translations uploads ten arrays
  std::array<Buffer, 2> large_;
  std::size_t next_small_ = 0, next_large_ = 0;
  std::vector<void*> outgrown_;
};

}  // namespace weft::detail
