// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Streams and events of a GPU, which end with their owner.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include <weft/device/cuda_error.cuh>

namespace weft::detail {

struct DestroyCudaHandle {
  void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
};

//! A stream; `get()` is what CUDA takes.
using CudaStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyCudaHandle>;
//! An event; `get()` is what CUDA takes.
using CudaEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyCudaHandle>;

//! A stream of the calling thread's GPU, which waits for no other.
[[nodiscard]] inline CudaStream make_stream() {
  cudaStream_t stream = nullptr;
  expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return CudaStream(stream);
}

//! An event of the calling thread's GPU, which tells no times.
[[nodiscard]] inline CudaEvent make_event() {
  cudaEvent_t event = nullptr;
  expect_success(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  return CudaEvent(event);
}

}  // namespace weft::detail
