// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file One thread that runs what it is given, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <weft/core/start_thread.hpp>

namespace weft {

//! An in-order queue and the thread that empties it.
//!
//! A task is a function pointer and its argument: who submits it keeps what it points to alive
//! until it ran, and catches its exceptions inside it. No memory is asked for once the queue has
//! reached its largest length.
class Worker {
 public:
  //! A function and what it is called with.
  struct Task {
    //! must not throw
    void (*run)(void* argument) noexcept;
    void* argument;  //!< kept alive by whoever submits it
  };

  //! **Errors.** SystemError if the system gives no thread.
  Worker() : thread_(start_thread<std::thread>("Worker", [this] { serve(); })) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  //! Runs what is queued, then ends.
  ~Worker() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    filled_.notify_one();
    thread_.join();
  }

  //! Queues a task and returns at once. Thread-safe.
  void submit(Task task) {
    {
      const std::scoped_lock lock(mutex_);
      queue_.push_back(task);
    }
    filled_.notify_one();
  }

 private:
  void serve() {
    std::vector<Task> tasks;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        std::swap(tasks, queue_);
      }
      for (const Task& task : tasks) task.run(task.argument);
      tasks.clear();
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Task> queue_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weft
