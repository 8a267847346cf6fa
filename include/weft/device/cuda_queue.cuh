// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What is queued on a GPU's stream: launched as it comes, or, between two waits, as a graph.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda_error.cuh>

namespace weft {

//! How many threads run a kernel, and what those of a block share.
struct CudaGrid {
  index_t x;                 //!< blocks, at most 2^31 - 1
  dim3 threads;              //!< of a block
  index_t y = 1;             //!< blocks, at most 65,535
  index_t z = 1;             //!< blocks, at most 65,535
  index_t shared_bytes = 0;  //!< of a block, which finds them by `ptx::launched_memory`
};

namespace detail {

//! Lets blocks of a kernel share as much memory as the thread's GPU has for one. What a launch
//! needs would be too little: the limit is the kernel's, and another device of the GPU, on another
//! thread, may launch it with longer sequences.
template <class... Parameters>
[[nodiscard]] cudaError_t allow_shared_memory(void (*kernel)(Parameters...)) {
  int gpu = 0, most = 0;
  cudaFuncAttributes of_kernel{};
  cudaError_t status = cudaGetDevice(&gpu);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu);
  }
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&of_kernel, kernel);
  if (status != cudaSuccess) return status;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(of_kernel.sharedSizeBytes));
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

//! A list of operations as one launch.
class CudaGraph {
 public:
  //! Records them: it launches them on the stream, which does not run them.
  //!
  //! **Errors.** CudaError, with the operation's name, for one that cannot be recorded.
  CudaGraph(OperationList operations, cudaStream_t stream) : operations_(std::move(operations)) {
    Capture capture(stream);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      expect_success(operations_[i].type->launch(operations_[i].object, stream),
                     operations_[i].name);
      nodes_.push_back(last_node(stream));
    }
    graph_.reset(capture.end());
    cudaGraphExec_t runnable = nullptr;
    expect_success(cudaGraphInstantiate(&runnable, graph_.get(), 0), "making a graph");
    runnable_.reset(runnable);
  }

  //! What it was recorded from, with the arguments of the last launch.
  [[nodiscard]] const OperationList& operations() const { return operations_; }

  //! Gives the nodes the arguments of a list that fits, those that differ. False: CUDA refuses it,
  //! and the graph is of no use any more.
  [[nodiscard]] bool change(const OperationList& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto& now = list[i];
      void* const before = operations_[i].object;
      if (now.type->equals(now.object, before)) continue;
      if (now.type->change(now.object, runnable_.get(), nodes_[i]) != cudaSuccess) {
        cudaGetLastError();  // CUB would find it
        return false;
      }
      std::memcpy(before, now.object, now.size);
    }
    return true;
  }

  //! Queues it.
  void launch(cudaStream_t stream) const {
    expect_success(cudaGraphLaunch(runnable_.get(), stream), "launching a graph");
  }

 private:
  struct Destroy {
    void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
    void operator()(cudaGraphExec_t runnable) const { cudaGraphExecDestroy(runnable); }
  };
  template <class Handle>
  using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

  //! A stream that records what is launched on it, until its end at the latest.
  class Capture {
   public:
    explicit Capture(cudaStream_t stream) : stream_(stream) {
      // What this thread may not do meanwhile others may: they allocate memory.
      expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                     "beginning a graph");
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() {
      if (stream_ == nullptr) return;
      cudaGraph_t graph = nullptr;
      cudaStreamEndCapture(stream_, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
    }

    //! What was recorded, which is the caller's.
    [[nodiscard]] cudaGraph_t end() {
      cudaGraph_t graph = nullptr;
      expect_success(cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph),
                     "ending a graph");
      return graph;
    }

   private:
    cudaStream_t stream_;
  };

  //! What is recorded next comes after one node, that of the operation recorded last; null if it
  //! has several.
  static cudaGraphNode_t last_node(cudaStream_t stream) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* last = nullptr;
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    const cudaGraphEdgeData* edges = nullptr;
    const cudaError_t status =
        cudaStreamGetCaptureInfo(stream, &capturing, nullptr, nullptr, &last, &edges, &count);
#else
    const cudaError_t status =
        cudaStreamGetCaptureInfo_v2(stream, &capturing, nullptr, nullptr, &last, &count);
#endif
    expect_success(status, "recording a graph");
    return count == 1 ? *last : nullptr;
  }

  OperationList operations_;
  std::vector<cudaGraphNode_t> nodes_;
  Owned<cudaGraph_t> graph_;  // its nodes name those of the runnable one
  Owned<cudaGraphExec_t> runnable_;
};

//! The operations of a stream, in the order of the calls.
//!
//! Without graphs each is launched when it is called. With graphs they are listed until somebody
//! waits for the stream, and launched then: as one graph, where a list of the same kernels has been
//! launched before. Their arguments may differ, as those of dropout and of the optimizer do in
//! every step. So nothing has to be the same but what is done: a graph of other work is not wrong,
//! it is not used.
class CudaQueue {
 public:
  CudaQueue() = default;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  //! Makes its stream on the calling thread's GPU.
  void begin() {
    expect_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  }
  //! Waits for what was launched; what was not is forgotten.
  void end() {
    cudaStreamSynchronize(stream_);
    graphs_.clear();
    cudaStreamDestroy(stream_);
  }

  //! The stream, with all that was called before.
  [[nodiscard]] cudaStream_t stream() {
    flush();
    return stream_;
  }

  //! Whether graphs are used from now on.
  void set_graphs(bool on) {
    flush();
    graphs_on_ = on;
    graphs_.clear();
    strangers_.clear();
  }

  //! Queues an operation; `name` must stay.
  template <class T>
  void add(const char* name, const T& operation) {
    ++operations_;
    last_ = name;
    if (graphs_on_) {
      list_.add(name, operation);
    } else {
      ++launches_;
      expect_success(operation.launch(stream_), name);
    }
  }

  //! Records the event when what was called before is on the stream.
  void record(cudaEvent_t event) {
    if (!list_.empty()) return events_.push_back(event);
    expect_success(cudaEventRecord(event, stream_), "recording an event");
  }

  //! Launches what is listed.
  void flush() {
    if (list_.empty()) return;
    ++flushes_;
    // Whatever fails, it is not launched once more.
    OperationList list;
    std::vector<cudaEvent_t> events;
    std::swap(list, list_);
    std::swap(events, events_);
    launch(list);
    for (const cudaEvent_t event : events) {
      expect_success(cudaEventRecord(event, stream_), "recording an event");
    }
    list.clear();
    list_ = std::move(list);  // its memory is for the next ones
  }

  //! How often a list was launched.
  [[nodiscard]] index_t flushes() const { return flushes_; }
  //! Operations that were called.
  [[nodiscard]] index_t operations() const { return operations_; }
  //! Launches that they took.
  [[nodiscard]] index_t launches() const { return launches_; }
  //! What was called last.
  [[nodiscard]] const char* last() const { return last_; }

 private:
  // A step is two lists, a batch of translations one for each length of its sentences.
  static constexpr std::size_t most_graphs = 64;

  //! Takes the list, if a graph is made of it, or of the next like it.
  void launch(OperationList& list) {
    const auto graph = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& known) {
      return fit(list, known->operations());
    });
    if (graph != graphs_.end()) {
      if ((*graph)->change(list)) {
        ++launches_;
        return (*graph)->launch(stream_);
      }
      graphs_.erase(graph);
      return launch_each(list);
    }
    const auto stranger = std::find_if(strangers_.begin(), strangers_.end(),
                                       [&](const auto& known) { return fit(list, known); });
    if (stranger != strangers_.end()) {
      strangers_.erase(stranger);
      keep(graphs_, std::make_unique<CudaGraph>(std::move(list), stream_));
      ++launches_;
      return graphs_.back()->launch(stream_);
    }
    launch_each(list);
    keep(strangers_, std::move(list));
  }

  void launch_each(const OperationList& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      ++launches_;
      expect_success(list[i].type->launch(list[i].object, stream_), list[i].name);
    }
  }

  //! Where there are too many the oldest goes: shapes vary too much for graphs.
  template <class T>
  static void keep(std::vector<T>& all, T&& one) {
    if (all.size() == most_graphs) all.erase(all.begin());
    all.push_back(std::move(one));
  }

  cudaStream_t stream_ = nullptr;
  bool graphs_on_ = false;
  OperationList list_;               // called, but not launched
  std::vector<cudaEvent_t> events_;  // to be recorded behind it
  std::vector<std::unique_ptr<CudaGraph>> graphs_;
  std::vector<OperationList> strangers_;  // seen once
  index_t operations_ = 0, launches_ = 0, flushes_ = 0;
  const char* last_ = "nothing";
};

}  // namespace detail

}  // namespace weft
