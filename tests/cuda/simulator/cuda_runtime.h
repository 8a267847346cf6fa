// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file As much of CUDA as weft uses, by a processor: what g++ finds in place of NVIDIA's headers.
//!
//! Memory begins as NaN, and so does what a block shares.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>

#include "graphs.hpp"
#include "memory.hpp"
#include "streams.hpp"
#include "threads_of_a_block.hpp"

#define __device__
#define __host__
#define __global__
#define __launch_bounds__(...)
#define __shared__ static thread_local

#define CUDART_VERSION 13000

struct alignas(8) ushort4 {
  unsigned short x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorStreamCaptureUnsupported = 900,
};
inline const char* cudaGetErrorName(cudaError_t) { return "an error of the simulated GPU"; }
inline const char* cudaGetErrorString(cudaError_t) { return "refused by the simulated GPU"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

// GPUs.

inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = simulator::gpus();
  return cudaSuccess;
}

namespace simulator {

//! The GPU that the calling thread works with.
inline thread_local int current_gpu = 0;
//! Whether one of its streams records a graph.
inline thread_local bool is_recording = false;

}  // namespace simulator

inline cudaError_t cudaGetDevice(int* gpu) {
  *gpu = simulator::current_gpu;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int gpu) {
  if (gpu < 0 || gpu >= simulator::gpus()) return cudaErrorInvalidDevice;
  simulator::current_gpu = gpu;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* reaches, int gpu, int other) {
  *reaches = gpu != other;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned) {
  return other == simulator::current_gpu ? cudaErrorInvalidDevice : cudaSuccess;
}
inline cudaError_t cudaDeviceGetPCIBusId(char* id, int, int) {
  *id = '\0';
  return cudaSuccess;
}
struct cudaDeviceProp {
  char name[32] = "a processor";
  int major = 8, minor = 0;
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  return cudaSuccess;
}

// Memory.

inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (simulator::is_recording) return cudaErrorStreamCaptureUnsupported;
  *memory = simulator::Memory::of_all().allocate(bytes, simulator::current_gpu);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  if (simulator::is_recording) return cudaErrorStreamCaptureUnsupported;
  simulator::Stream::reach_all();
  simulator::Memory::of_all().free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) {
  simulator::Stream::reach_all();
  std::free(memory);
  return cudaSuccess;
}

// Streams and events.

using cudaStream_t = simulator::Stream*;
using cudaEvent_t = simulator::Event*;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDefault };

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new simulator::Stream(simulator::current_gpu);
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  simulator::Stream::reach(stream->here());
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->wait_for(*event);
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new simulator::Event;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream->gpu() != simulator::current_gpu) return cudaErrorInvalidResourceHandle;
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  *event = stream->here();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  simulator::Stream::reach(*event);
  return cudaSuccess;
}
namespace simulator {

//! Queues a task of a library or of the runtime, or records it. Null: no kernel's.
inline void queue(Stream& stream, std::function<void()> task, bool is_memcpy = false,
                  KernelNode kernel = {}) {
  if (stream.recording == nullptr) return stream.queue(std::move(task), is_memcpy);
  auto& nodes = stream.recording->nodes;
  simulator::Node node;
  node.run = std::move(task);
  node.is_copy = is_memcpy;
  node.kernel = std::move(kernel);
  node.number = nodes.size();
  nodes.push_back(std::move(node));
}

}  // namespace simulator

inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t stream) {
  simulator::queue(
      *stream, [=] { std::memmove(to, from, bytes); }, true);
  if (stream->recording != nullptr) {
    auto& node = stream->recording->nodes.back();
    node.to_gpu = simulator::Memory::of_all().gpu_of(to);
    node.from_gpu = simulator::Memory::of_all().gpu_of(from);
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  simulator::queue(*stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

// Graphs.

namespace simulator {

inline std::size_t shared_allowed(const void* kernel, std::size_t set_to = 0);

}  // namespace simulator

using cudaGraph_t = simulator::Graph*;
using cudaGraphExec_t = simulator::RunnableGraph*;
using cudaGraphNode_t = simulator::Node*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
struct cudaGraphEdgeData {};
struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
  void** kernelParams;
};

inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->recording = new simulator::Graph;
  simulator::is_recording = true;
  return cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->recording, nullptr);
  simulator::is_recording = false;
  return *graph == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                            unsigned long long*, cudaGraph_t*,
                                            const cudaGraphNode_t** last, const cudaGraphEdgeData**,
                                            std::size_t* count) {
  static thread_local cudaGraphNode_t node;
  auto& nodes = stream->recording->nodes;
  *status = cudaStreamCaptureStatusActive;
  node = nodes.empty() ? nullptr : &nodes.back();
  *last = &node;
  *count = nodes.empty() ? 0 : 1;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned) {
  *runnable = new simulator::RunnableGraph(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete runnable;
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  if (stream->gpu() != simulator::current_gpu) return cudaErrorInvalidResourceHandle;
  runnable->launch(*stream);
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t runnable, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams* now) {
  if (!runnable->has(node) || node->kernel.kernel != now->func ||
      now->sharedMemBytes > simulator::shared_allowed(now->func)) {
    return cudaErrorInvalidValue;
  }
  runnable->tasks[node->number] = node->kernel.with_arguments(
      now->gridDim, now->blockDim, now->sharedMemBytes, now->kernelParams);
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t runnable,
                                                      cudaGraphNode_t node, void* to,
                                                      const void* from, std::size_t bytes,
                                                      cudaMemcpyKind) {
  const auto& memory = simulator::Memory::of_all();
  if (!runnable->has(node) || !node->is_copy || memory.gpu_of(to) != node->to_gpu ||
      memory.gpu_of(from) != node->from_gpu) {
    return cudaErrorInvalidValue;
  }
  runnable->tasks[node->number] = [=] { std::memmove(to, from, bytes); };
  return cudaSuccess;
}

// Kernels.

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes = 0;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel*) {
  return cudaSuccess;
}

namespace simulator {

//! The shared memory of the block that runs, of the size that its launch gave.
inline thread_local std::vector<float4> launched_memory;
//! What a launch may ask for without saying so before; what it may ask for at most on every GPU
//! since sm_80.
inline constexpr std::size_t shared_unasked = 48 * 1024, shared_at_most = 99 * 1024;

//! What blocks of a kernel may ask for on the current GPU. It stays as it was set, for all threads.
inline std::size_t shared_allowed(const void* kernel, std::size_t set_to) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> limits;
  const std::lock_guard lock(mutex);
  auto& limit = limits.insert({{kernel, current_gpu}, shared_unasked}).first->second;
  if (set_to > 0) limit = set_to;
  return limit;
}

}  // namespace simulator

enum cudaDeviceAttr { cudaDevAttrMaxSharedMemoryPerBlockOptin };
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = static_cast<int>(simulator::shared_at_most);
  return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute, int value) {
  if (value > static_cast<int>(simulator::shared_at_most)) return cudaErrorInvalidValue;
  simulator::shared_allowed(reinterpret_cast<const void*>(kernel), static_cast<std::size_t>(value));
  return cudaSuccess;
}

namespace simulator {

//! Runs a kernel's blocks, one after the other.
inline std::function<void()> task_of(const std::function<void()>& kernel, dim3 blocks, dim3 threads,
                                     std::size_t shared_bytes) {
  return [kernel, blocks, threads, vectors = (shared_bytes + 15) / 16] {
    const float nan = std::nanf("");
    gridDim = blocks;
    blockDim = threads;
    for (unsigned z = 0; z < blocks.z; ++z) {
      for (unsigned y = 0; y < blocks.y; ++y) {
        for (unsigned x = 0; x < blocks.x; ++x) {
          launched_memory.assign(vectors, {nan, nan, nan, nan});
          blockIdx = {x, y, z};
          Threads::here().run(kernel);
        }
      }
    }
  };
}

}  // namespace simulator

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const auto* const address = reinterpret_cast<const void*>(kernel);
  if (config->dynamicSmemBytes > simulator::shared_allowed(address)) return cudaErrorInvalidValue;
  if (config->stream->gpu() != simulator::current_gpu) return cudaErrorInvalidResourceHandle;
  const dim3 blocks = config->gridDim;
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return cudaErrorInvalidConfiguration;
  // Arguments are copied now, and a graph's node can be given others.
  const auto with = [kernel](dim3 grid, dim3 threads, std::size_t shared, Parameters... copies) {
    return simulator::task_of([=] { kernel(copies...); }, grid, threads, shared);
  };
  const auto with_pointers = [with]<std::size_t... I>(std::index_sequence<I...>) {
    return [with](dim3 grid, dim3 threads, std::size_t shared,
                  [[maybe_unused]] void** all) -> std::function<void()> {
      return with(grid, threads, shared, *static_cast<std::decay_t<Parameters>*>(all[I])...);
    };
  }
  (std::index_sequence_for<Parameters...>());
  simulator::queue(*config->stream,
                   with(blocks, config->blockDim, config->dynamicSmemBytes,
                        std::forward<Arguments>(arguments)...),
                   false, {address, with_pointers});
  return cudaSuccess;
}

// What a kernel calls.

inline void __syncthreads() { simulator::Threads::here().wait_for_block(); }
inline void __syncwarp() { simulator::Threads::here().wait_for_warp(); }
template <class T>
T __shfl_sync(unsigned lanes, T mine, int lane) {
  return simulator::Threads::here().exchange(
      lanes, mine, [lane](auto of_lane) { return of_lane(static_cast<unsigned>(lane) % 32); });
}
template <class T>
T __shfl_xor_sync(unsigned lanes, T mine, int mask) {
  const unsigned lane = simulator::Threads::here().lane() ^ static_cast<unsigned>(mask);
  return __shfl_sync(lanes, mine, static_cast<int>(lane));
}
inline float __uint_as_float(std::uint32_t word) { return __builtin_bit_cast(float, word); }
inline std::uint32_t __float_as_uint(float x) { return __builtin_bit_cast(std::uint32_t, x); }
