// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Streams whose work is done as late as a GPU may do it.
//!
//! What is queued runs when the host, or a stream that the host waits for, waits for it. So what
//! reads before it has waited finds the bytes of before, always and not once in a thousand runs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace emulator {

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

  //! Queues a task.
  void queue(std::function<void()> task) {
    const std::lock_guard lock(one_at_a_time());
    tasks_.push_back(std::move(task));
    ++queued_;
  }

  //! What was queued until now.
  [[nodiscard]] Event here() {
    const std::lock_guard lock(one_at_a_time());
    return {this, queued_};
  }

  //! What is queued from now on comes after the event.
  void wait_for(Event event) {
    queue([event] { reach(event); });
  }

  //! Does all that was queued before the event.
  static void reach(Event event) {
    const std::lock_guard lock(one_at_a_time());
    if (event.stream == nullptr) return;
    Stream& stream = *event.stream;
    while (stream.done_ < event.place) {
      const auto task = std::move(stream.tasks_.front());
      stream.tasks_.pop_front();
      task();
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

  int gpu_;
  std::deque<std::function<void()>> tasks_;
  std::uint64_t queued_ = 0, done_ = 0;
};

}  // namespace emulator
