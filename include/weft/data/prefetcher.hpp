// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Makes things on a thread of its own before they are asked for.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/start_thread.hpp>
#include <weft/core/text.hpp>

#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace weft::data {

//! Calls `produce(item)` on its own thread, at most `depth` times ahead, and hands the items out in
//! that order.
//!
//! Items go round: `next` gives an item for the one it gets, in whose memory `produce` makes a
//! later one. One thread may call `next`. The destructor waits for a call of `produce` that is
//! under way, and for nothing else.
//!
//! **Errors.** What `produce` throws is thrown by `next` in the place of its item, and from then on
//! by every call. ArgumentError if the depth is below 1; SystemError if the system gives no thread.
template <std::default_initializable Item>
class Prefetcher {
 public:
  //! Starts to produce.
  template <std::invocable<Item&> Produce>
  Prefetcher(Produce produce, index_t depth) : slots_(checked(depth)) {
    thread_ = start_thread<std::jthread>(
        "prefetcher",
        [this, produce = std::move(produce)](std::stop_token stop) mutable { run(stop, produce); });
  }

  //! Waits for the next item and swaps it with `item`.
  void next(Item& item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_ > 0 || failure_; });
    if (ready_ == 0) std::rethrow_exception(failure_);
    std::swap(item, slots_[first_]);
    first_ = (first_ + 1) % slots_.size();
    --ready_;
    changed_.notify_all();
  }

 private:
  static std::size_t checked(index_t depth) {
    if (depth < 1) throw ArgumentError(text("prefetcher: its depth is ", depth));
    return static_cast<std::size_t>(depth);
  }

  template <class Produce>
  void run(const std::stop_token& stop, Produce& produce) {
    try {
      for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [this] { return ready_ < slots_.size(); });
        if (stop.stop_requested()) return;
        Item& slot = slots_[(first_ + ready_) % slots_.size()];  // until it is ready, ours alone
        lock.unlock();
        produce(slot);
        lock.lock();
        ++ready_;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Item> slots_;  // a ring: `ready_` items from `first_` on
  std::size_t first_ = 0;
  std::size_t ready_ = 0;
  std::exception_ptr failure_;
  std::jthread thread_;  // last, so that it ends before what it uses
};

}  // namespace weft::data
