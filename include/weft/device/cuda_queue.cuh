// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The order of a GPU's stream: launched as it comes, or, between two waits, as a graph.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_graph.cuh>
#include <weft/device/cuda_handles.cuh>
#include <weft/device/cuda_operations.cuh>

namespace weft::detail {

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
  //! Waits for what was launched; what was not is forgotten.
  ~CudaQueue() {
    if (stream_ != nullptr) cudaStreamSynchronize(stream_.get());
  }

  //! Makes its stream on the calling thread's GPU.
  void begin() { stream_ = make_stream(); }

  //! The stream, with all that was called before.
  [[nodiscard]] cudaStream_t stream() {
    flush();
    return stream_.get();
  }

  //! The same for who must not throw, or not yet: what fails is thrown by the next call.
  [[nodiscard]] cudaStream_t stream_or_later_error() noexcept {
    try {
      flush();
    } catch (...) {
      failure_ = std::current_exception();
    }
    return stream_.get();
  }

  //! Whether graphs are used from now on. What is listed is launched, and all graphs are forgotten.
  void set_graphs(bool on) {
    flush();
    graphs_on_ = on;
    graphs_.clear();
    strangers_.clear();
  }
  //! Whether they are.
  [[nodiscard]] bool graphs() const { return graphs_on_; }

  //! Queues an operation; `name` must stay.
  template <class T>
  void add(const char* name, const T& operation) {
    throw_failure();
    ++operations_;
    last_ = name;
    if (graphs_on_) {
      list_.add(name, operation);
    } else {
      ++launches_;
      expect_success(operation.launch(stream_.get()), name);
    }
  }

  //! Records the event when what was called before is on the stream.
  void record(cudaEvent_t event) {
    if (!list_.empty()) return events_.push_back(event);
    expect_success(cudaEventRecord(event, stream_.get()), "recording an event");
  }

  //! Launches what is listed.
  void flush() {
    throw_failure();
    if (list_.empty()) return;
    ++flushes_;
    // Whatever fails, it is not launched once more.
    OperationList list;
    std::vector<cudaEvent_t> events;
    std::swap(list, list_);
    std::swap(events, events_);
    try {
      launch(list);
      for (const cudaEvent_t event : events) {
        expect_success(cudaEventRecord(event, stream_.get()), "recording an event");
      }
    } catch (...) {
      // What was launched may still read memory that those events should have guarded.
      cudaStreamSynchronize(stream_.get());
      throw;
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
  void throw_failure() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // A step is two lists, a batch of translations one for each length of its sentences.
  static constexpr std::size_t most_graphs = 64;
  // A graph that is changed and launched costs the host more than to launch one kernel or two.
  static constexpr std::size_t worth_no_graph = 2;

  //! Takes the list, if a graph is made of it, or of the next like it.
  void launch(OperationList& list) {
    if (list.size() <= worth_no_graph) return launch_each(list);
    const auto graph = std::find_if(graphs_.begin(), graphs_.end(), [&](const auto& known) {
      return fit(list, known->operations());
    });
    if (graph != graphs_.end()) {
      if ((*graph)->change(list)) {
        ++launches_;
        return (*graph)->launch(stream_.get());
      }
      graphs_.erase(graph);
      return launch_each(list);
    }
    const auto stranger = std::find_if(strangers_.begin(), strangers_.end(),
                                       [&](const auto& known) { return fit(list, known); });
    if (stranger != strangers_.end()) {
      std::unique_ptr<CudaGraph> made;
      try {
        made = std::make_unique<CudaGraph>(list, stream_.get());
      } catch (const CudaError&) {  // it stays a stranger, of which the next may become a graph
        cudaGetLastError();
        return launch_each(list);
      }
      strangers_.erase(stranger);
      keep(graphs_, std::move(made));
      ++launches_;
      return graphs_.back()->launch(stream_.get());
    }
    launch_each(list);
    keep(strangers_, std::move(list));
  }

  void launch_each(const OperationList& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      ++launches_;
      expect_success(list[i].type->launch(list[i].object, stream_.get()), list[i].name);
    }
  }

  //! Where there are too many the oldest goes: shapes vary too much for graphs.
  template <class T>
  static void keep(std::vector<T>& all, T&& one) {
    if (all.size() == most_graphs) all.erase(all.begin());
    all.push_back(std::move(one));
  }

  CudaStream stream_;
  bool graphs_on_ = false;
  OperationList list_;               // called, but not launched
  std::vector<cudaEvent_t> events_;  // to be recorded behind it
  std::exception_ptr failure_;       // that nobody has heard of
  std::vector<std::unique_ptr<CudaGraph>> graphs_;
  std::vector<OperationList> strangers_;  // seen once
  index_t operations_ = 0, launches_ = 0, flushes_ = 0;
  const char* last_ = "nothing";
};

}  // namespace weft::detail
