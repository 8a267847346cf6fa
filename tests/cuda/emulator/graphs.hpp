// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Graphs: tasks that a stream recorded instead of queueing them.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "streams.hpp"

namespace emulator {

//! What a kernel's node can be changed to.
struct KernelNode {
  const void* kernel = nullptr;
  std::function<std::function<void()>(dim3 blocks, dim3 threads, std::size_t shared,
                                      void** arguments)>
      with_arguments;
};

//! A recorded task.
struct Node {
  std::function<void()> run;
  bool is_copy = false;
  int to_gpu = -1, from_gpu = -1;  // of a copy; -1: the host
  KernelNode kernel;
  std::size_t number = 0;
};

//! What was recorded, in order.
struct Graph {
  std::deque<Node> nodes;  // which stay where they are
};

//! A graph that can be launched: each node's task, as it was recorded or changed.
struct RunnableGraph {
  const Graph* graph;
  std::vector<std::function<void()>> tasks;

  explicit RunnableGraph(const Graph& recorded) : graph(&recorded) {
    for (const Node& node : recorded.nodes) tasks.push_back(node.run);
  }

  //! Whether a node is one of the graph's.
  [[nodiscard]] bool has(const Node* node) const {
    return node != nullptr && node->number < graph->nodes.size() &&
           &graph->nodes[node->number] == node;
  }

  void launch(Stream& stream) const {
    for (const auto& task : tasks) stream.queue(task);
  }
};

}  // namespace emulator
