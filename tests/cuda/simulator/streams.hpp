// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Streams whose work is done as late as a GPU may do it.
//!
//! What is queued runs when the host, or a stream that the host waits for, waits for it. So what
//! reads before it has waited finds the bytes of before, always and not once in a thousand runs.
//! Only the memory of a stream's GPU can be reached by its kernels.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "memory.hpp"

namespace simulator {

class Stream;
struct Graph;

//! A place in a stream.
struct Event {
  Stream* stream = nullptr;
  std::uint64_t place = 0;
};

class Stream {
 public:
  explicit Stream(int gpu) : gpu_(gpu) {
    const std::lock_guard lock(one_at_a_time());
    all().push_back(this);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    const std::lock_guard lock(one_at_a_time());
    std::erase(all(), this);
  }

  //! The GPU that it is of.
  [[nodiscard]] int gpu() const { return gpu_; }

  //! What records its tasks now, or null.
  Graph* recording = nullptr;

  //! Queues what the stream's GPU does, or a copy, which reaches the memory of all of them.
  void queue(std::function<void()> task, bool is_copy = false) {
    const std::lock_guard lock(one_at_a_time());
    tasks_.push_back({std::move(task), is_copy ? every_gpu : gpu_});
    ++queued_;
  }

  //! What was queued until now.
  [[nodiscard]] Event here() {
    const std::lock_guard lock(one_at_a_time());
    return {this, queued_};
  }

  //! What is queued from now on comes after the event.
  void wait_for(Event event) {
    queue([event] { reach(event); }, true);
  }

  //! Does all that was queued before the event.
  static void reach(Event event) {
    const std::lock_guard lock(one_at_a_time());
    if (event.stream == nullptr) return;
    Stream& stream = *event.stream;
    while (stream.done_ < event.place) {
      const auto task = std::move(stream.tasks_.front());
      stream.tasks_.pop_front();
      open_memory_to(task.gpu);
      task.run();
      ++stream.done_;
    }
  }

  //! Does all that was queued anywhere.
  static void reach_all() {
    const std::lock_guard lock(one_at_a_time());
    for (Stream* stream : all()) reach(stream->here());
  }

 private:
  static std::recursive_mutex& one_at_a_time() {
    static std::recursive_mutex mutex;
    return mutex;
  }
  static std::vector<Stream*>& all() {
    static std::vector<Stream*> streams;
    return streams;
  }

  struct Task {
    std::function<void()> run;
    int gpu;  // that works on it
  };

  int gpu_;
  std::deque<Task> tasks_;
  std::uint64_t queued_ = 0, done_ = 0;
};

}  // namespace simulator
