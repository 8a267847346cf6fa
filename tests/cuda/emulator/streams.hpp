// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Streams whose work is done as late as a GPU may do it.
//!
//! What is queued runs when the host, or a stream that the host waits for, waits for it. So what
//! reads before it has waited finds the bytes of before, always and not once in a thousand runs.
//! Only where the host waits for a kernel that waits for another rank do all streams go on. After a
//! fault nothing runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "fault.hpp"
#include "statements.hpp"

namespace emulator {

//! How long ranks wait for one another before the program is taken for one that hangs.
inline constexpr std::chrono::seconds patience{60};

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
    advance(here());
    std::erase(all(), this);
  }

  //! The GPU that it is of.
  [[nodiscard]] int gpu() const { return gpu_; }

  //! What records its tasks now, or null.
  Graph* recording = nullptr;

  //! Queues a task.
  void queue(std::function<void()> task) {
    queue_attempts([task = std::move(task)] {
      task();
      return true;
    });
  }

  //! Queues a task that is called until it says that it is done.
  void queue_attempts(std::function<bool()> attempt) {
    const std::lock_guard lock(one_at_a_time());
    tasks_.push_back(std::move(attempt));
    ++queued_;
  }

  //! What was queued until now.
  [[nodiscard]] Event here() {
    const std::lock_guard lock(one_at_a_time());
    return {this, queued_};
  }

  //! What is queued from now on comes after the event.
  void wait_for(Event event) {
    queue_attempts([event] { return event.stream == nullptr || event.stream->advance(event); });
  }

  //! Whether all that was queued before the event is done.
  static bool has_reached(Event event) {
    const std::lock_guard lock(one_at_a_time());
    return event.stream == nullptr || event.stream->done_ >= event.place;
  }

  //! Does all that was queued before the event, unless that waits for another rank's host. Whether
  //! it is done.
  static bool try_to_reach(Event event) {
    const std::lock_guard lock(one_at_a_time());
    if (event.stream == nullptr) return true;
    while (!event.stream->advance(event)) {
      bool goes_on = false;
      for (Stream* stream : all()) goes_on = stream->step() || goes_on;
      if (!goes_on) return false;
    }
    return true;
  }

  //! Does all that was queued before the event.
  static void reach(Event event) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!try_to_reach(event)) {
      if (std::chrono::steady_clock::now() > until)
        end("emulated GPU: a stream waits for a rank that does not come");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  //! Does all that was queued anywhere, or for one GPU.
  static void reach_all() {
    reach_all_if([](const Stream&) { return true; });
  }
  static void reach_all_of(int gpu) {
    reach_all_if([gpu](const Stream& stream) { return stream.gpu() == gpu; });
  }

 private:
  template <class Matters>
  static void reach_all_if(const Matters& matters) {
    std::vector<Event> ends;
    {
      const std::lock_guard lock(one_at_a_time());
      for (Stream* stream : all()) {
        if (matters(*stream)) ends.push_back(stream->here());
      }
    }
    for (const Event& event : ends) reach(event);
  }

  static std::recursive_mutex& one_at_a_time() {
    static std::recursive_mutex mutex;
    return mutex;
  }
  static std::vector<Stream*>& all() {
    static std::vector<Stream*> streams;
    return streams;
  }

  //! Does the first task, if there is one. Whether it is done.
  bool step() {
    if (tasks_.empty() || !(has_faulted() || tasks_.front()())) return false;
    tasks_.pop_front();
    ++done_;
    return true;
  }

  //! Does this stream's tasks before the event. Whether all are done.
  bool advance(Event event) {
    while (done_ < event.place && step()) {
    }
    return done_ >= event.place;
  }

  int gpu_;
  std::deque<std::function<bool()>> tasks_;
  std::uint64_t queued_ = 0, done_ = 0;
};

}  // namespace emulator
