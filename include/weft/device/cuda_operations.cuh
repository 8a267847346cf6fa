// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is queued on a GPU's stream: kernels with their arguments, copies, calls of
//! libraries.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>

namespace weft {

//! How many threads run a kernel, and what those of a block share.
struct CudaGrid {
  static constexpr index_t most = 2147483647;    //!< blocks of `x` that a GPU takes
  static constexpr index_t most_across = 65535;  //!< blocks of `y`, and of `z`

  index_t x;                 //!< blocks
  dim3 threads;              //!< of a block
  index_t y = 1;             //!< blocks
  index_t z = 1;             //!< blocks
  index_t shared_bytes = 0;  //!< of a block, which finds them by `ptx::launched_memory`
};

namespace detail {

//! Lets blocks of a kernel share as much memory as the thread's GPU has for one. What a launch
//! needs would be too little: the limit is the kernel's, and another device of the GPU, on another
//! thread, may launch it with longer sequences. A thread says so once of each kernel and GPU.
template <class... Parameters>
[[nodiscard]] cudaError_t allow_shared_memory(void (*kernel)(Parameters...)) {
  thread_local std::set<std::pair<void (*)(Parameters...), int>> allowed;
  int gpu = 0, most = 0;
  cudaFuncAttributes of_kernel{};
  cudaError_t status = cudaGetDevice(&gpu);
  if (status == cudaSuccess && allowed.contains({kernel, gpu})) return status;
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu);
  }
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&of_kernel, kernel);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most - static_cast<int>(of_kernel.sharedSizeBytes));
  }
  if (status == cudaSuccess) allowed.insert({kernel, gpu});
  return status;
}

//! A kernel with its arguments.
template <class... Parameters>
struct KernelLaunch {
  CudaGrid grid;
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> parameters;

  [[nodiscard]] cudaError_t launch(cudaStream_t stream) const {
    if (const cudaError_t status = allow(); status != cudaSuccess) return status;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks();
    config.blockDim = grid.threads;
    config.dynamicSmemBytes = static_cast<unsigned>(grid.shared_bytes);
    config.stream = stream;
    return std::apply(
        [&](const Parameters&... all) { return cudaLaunchKernelEx(&config, kernel, all...); },
        parameters);
  }

  //! A graph's node takes any arguments for its kernel, and any grid.
  [[nodiscard]] bool fits(const KernelLaunch& other) const { return kernel == other.kernel; }
  //! Bytes between members may differ: the node is then changed for nothing.
  [[nodiscard]] bool equals(const KernelLaunch& other) const {
    return std::memcmp(this, &other, sizeof *this) == 0;
  }
  [[nodiscard]] cudaError_t change(cudaGraphExec_t graph, cudaGraphNode_t node) const {
    if (const cudaError_t status = allow(); status != cudaSuccess) return status;
    return std::apply(
        [&](const Parameters&... all) {
          void* pointers[] = {const_cast<std::remove_const_t<Parameters>*>(&all)...};
          cudaKernelNodeParams node_of{};
          node_of.func = reinterpret_cast<void*>(kernel);
          node_of.gridDim = blocks();
          node_of.blockDim = grid.threads;
          node_of.sharedMemBytes = static_cast<unsigned>(grid.shared_bytes);
          node_of.kernelParams = pointers;
          return cudaGraphExecKernelNodeSetParams(graph, node, &node_of);
        },
        parameters);
  }

 private:
  [[nodiscard]] cudaError_t allow() const {
    constexpr index_t unasked = 48 * 1024;
    return grid.shared_bytes > unasked ? allow_shared_memory(kernel) : cudaSuccess;
  }
  [[nodiscard]] dim3 blocks() const {
    return dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                static_cast<unsigned>(grid.z));
  }
};

//! A copy, to or from whatever the device can read.
struct MemoryCopy {
  void* to;
  const void* from;
  std::size_t bytes;
  cudaMemcpyKind kind;

  [[nodiscard]] cudaError_t launch(cudaStream_t stream) const {
    return cudaMemcpyAsync(to, from, bytes, kind, stream);
  }
  //! A node's memory may not come to lie on another GPU, as that of a copy of any kind might.
  [[nodiscard]] bool fits(const MemoryCopy& other) const {
    return kind == other.kind && (kind != cudaMemcpyDefault || equals(other));
  }
  [[nodiscard]] bool equals(const MemoryCopy& other) const {
    return to == other.to && from == other.from && bytes == other.bytes;
  }
  [[nodiscard]] cudaError_t change(cudaGraphExec_t graph, cudaGraphNode_t node) const {
    return cudaGraphExecMemcpyNodeSetParams1D(graph, node, to, from, bytes, kind);
  }
};

//! Zeros.
struct MemoryClear {
  void* to;
  std::size_t bytes;

  [[nodiscard]] cudaError_t operator()(cudaStream_t stream) const {
    return cudaMemsetAsync(to, 0, bytes, stream);
  }
  friend bool operator==(const MemoryClear&, const MemoryClear&) = default;
};

//! What a library launches, in as many nodes as it likes: a graph fits the very same call.
//!
//! `Call` is called with the stream, gives a cudaError_t, and can be compared.
template <class Call>
struct LibraryCall {
  Call call;

  [[nodiscard]] cudaError_t launch(cudaStream_t stream) const { return call(stream); }
  [[nodiscard]] bool fits(const LibraryCall& other) const { return call == other.call; }
  [[nodiscard]] bool equals(const LibraryCall&) const { return true; }
  [[nodiscard]] cudaError_t change(cudaGraphExec_t, cudaGraphNode_t) const { return cudaSuccess; }
};

//! Operations of any of these types, in their order.
class OperationList {
 public:
  //! An operation without its type.
  struct Operation {
    const char* name;  // which stays
    void* object;
    std::size_t size;
    const struct OperationType* type;
  };

  template <class T>
  void add(const char* name, const T& operation);

  [[nodiscard]] bool empty() const { return operations_.empty(); }
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  [[nodiscard]] const Operation& operator[](std::size_t i) const { return operations_[i]; }

  //! Forgets them, and keeps the memory.
  void clear() {
    operations_.clear();
    chunk_ = used_ = 0;
  }

 private:
  static constexpr std::size_t chunk_bytes = 65536;

  void* take(std::size_t bytes) {
    const std::size_t size = (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
                             alignof(std::max_align_t);
    if (!chunks_.empty() && used_ + size > chunk_bytes) ++chunk_, used_ = 0;
    if (chunk_ == chunks_.size()) {
      chunks_.push_back(std::make_unique<std::byte[]>(chunk_bytes));
    }
    used_ += size;
    return chunks_[chunk_].get() + used_ - size;
  }

  std::vector<Operation> operations_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t chunk_ = 0, used_ = 0;  // where the next one goes
};

//! What can be done with an operation of some type.
struct OperationType {
  cudaError_t (*launch)(const void* operation, cudaStream_t stream);
  bool (*fits)(const void* a, const void* b);
  bool (*equals)(const void* a, const void* b);
  cudaError_t (*change)(const void* operation, cudaGraphExec_t graph, cudaGraphNode_t node);
};

template <class T>
inline constexpr OperationType type_of_operation{
    [](const void* operation, cudaStream_t stream) {
      return static_cast<const T*>(operation)->launch(stream);
    },
    [](const void* a, const void* b) {
      return static_cast<const T*>(a)->fits(*static_cast<const T*>(b));
    },
    [](const void* a, const void* b) {
      return static_cast<const T*>(a)->equals(*static_cast<const T*>(b));
    },
    [](const void* operation, cudaGraphExec_t graph, cudaGraphNode_t node) {
      return static_cast<const T*>(operation)->change(graph, node);
    }};

template <class T>
void OperationList::add(const char* name, const T& operation) {
  // Nobody calls destructors, and a graph's operations are overwritten byte by byte.
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copy_constructible_v<T> &&
                sizeof(T) <= chunk_bytes && alignof(T) <= alignof(std::max_align_t));
  operations_.push_back(
      {name, new (take(sizeof(T))) T(operation), sizeof(T), &type_of_operation<T>});
}

//! Whether a graph of `b` can launch `a`: the same kernels in the same order, and the same calls.
[[nodiscard]] inline bool fit(const OperationList& a, const OperationList& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type || !a[i].type->fits(a[i].object, b[i].object)) return false;
  }
  return true;
}

}  // namespace detail

}  // namespace weft
