// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What CUDA's handles are, and how work is queued.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

#include "graphs.hpp"
#include "memory.hpp"
#include "streams.hpp"

struct CUstream_st : emulator::Stream {
  using Stream::Stream;
};
struct CUevent_st {
  int gpu;
  emulator::Event place{};
  int queries = 0;  // whether it was reached
};
struct CUgraph_st : emulator::Graph {};
struct CUgraphExec_st : emulator::RunnableGraph {
  using RunnableGraph::RunnableGraph;
};

namespace emulator {

//! Queues a task, or records it. Null: no kernel's.
inline void queue(Stream& stream, std::function<void()> task, KernelNode kernel = {}) {
  if (stream.recording == nullptr) return stream.queue(std::move(task));
  auto& nodes = stream.recording->nodes;
  Node node;
  node.run = std::move(task);
  node.kernel = std::move(kernel);
  node.number = nodes.size();
  nodes.push_back(std::move(node));
}

inline std::function<void()> copy_of(void* to, const void* from, std::size_t bytes) {
  return [=] {
    auto& memory = Memory::of_all();
    memory.expect_room(from, bytes);
    memory.expect_room(to, bytes);
    std::memmove(to, from, bytes);
    memory.copied(to, from, bytes);
  };
}

}  // namespace emulator
