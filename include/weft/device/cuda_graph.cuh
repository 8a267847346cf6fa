// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A list of operations as one launch: a CUDA graph whose nodes get the arguments of each
//! launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_operations.cuh>

namespace weft::detail {

//! A list of operations as one launch.
class CudaGraph {
 public:
  //! Records them, and takes them: it launches them on the stream, which does not run them.
  //!
  //! **Errors.** CudaError, with the operation's name, for one that cannot be recorded, or if the
  //! GPU has no memory for the graph; the list is then as it was.
  CudaGraph(OperationList& operations, cudaStream_t stream) {
    Capture capture(stream);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      expect_success(operations[i].type->launch(operations[i].object, stream), operations[i].name);
      nodes_.push_back(last_node(stream));
    }
    graph_.reset(capture.end());
    cudaGraphExec_t runnable = nullptr;
    expect_success(cudaGraphInstantiate(&runnable, graph_.get(), 0), "making a graph");
    runnable_.reset(runnable);
    expect_success(cudaGraphUpload(runnable, stream), "bringing a graph to the GPU");
    operations_ = std::move(operations);
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

}  // namespace weft::detail
