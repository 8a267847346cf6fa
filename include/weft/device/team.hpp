// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A fixed set of threads that share the loops of one device.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft {

//! The calling thread and `size - 1` others run one function together.
//!
//! Not OpenMP's team: several devices live in one process, each with its own threads, and
//! ThreadSanitizer understands these (it reports libgomp's barriers as races).
class Team {
 public:
  //! **Errors.** ArgumentError unless size > 0; SystemError if the system refuses so many threads.
  explicit Team(int size) : size_(size) {
    if (size < 1) throw ArgumentError(text("Team: needs at least one thread, not ", size));
    threads_.reserve(static_cast<std::size_t>(size - 1));
    try {
      for (int member = 1; member < size; ++member) {
        threads_.emplace_back([this, member] { serve(member); });
      }
    } catch (const std::system_error& error) {
      const auto started = threads_.size();
      dismiss();
      throw SystemError(text("Team: the system gave ", started, " of the ", size - 1,
                             " threads besides the caller's: ", error.what()));
    } catch (...) {  // no memory for a thread
      dismiss();
      throw;
    }
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  ~Team() { dismiss(); }

  //! How many threads it has, the caller included.
  [[nodiscard]] int size() const { return size_; }

  //! Calls `f(member)` for members 0 to size - 1, member 0 on the calling thread, and returns when
  //! all are done. The first exception (of the lowest member) is rethrown.
  //!
  //! **Errors.** Error if it runs another function already: one caller at a time.
  template <class F>
  void run(F&& f) {
    run(size_, std::forward<F>(f));
  }

  //! The same for members 0 to `members` - 1; a single one wakes nobody.
  template <class F>
  void run(int members, F&& f) {
    using Function = std::remove_reference_t<F>;
    run_function(
        members, [](void* function, int member) { (*static_cast<Function*>(function))(member); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Call = void (*)(void* function, int member);

  //! Compiled once, whatever functions the team is given; and each of those once.
  void run_function(int members, Call call, void* function) {
    if (members == 1) return call(function, 0);
    if (busy_.exchange(true, std::memory_order_acquire)) {
      throw Error(
          "Team: a device's threads are asked to run two functions at once: ranks that are threads "
          "have a device each");
    }
    members_ = members;
    call_ = call;
    function_ = function;
    running_.store(size_ - 1, std::memory_order_relaxed);
    wake();
    invoke(0);
    wait_while(running_, [](int running) { return running != 0; });
    const bool failed = std::exchange(failed_member_, -1) >= 0;
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    busy_.store(false, std::memory_order_release);
    if (failed) std::rethrow_exception(failure);
  }

  //! Loops of one step follow each other within microseconds: spinning that long before sleeping
  //! saves the wake-up. 2000 polls are some 20 us.
  static constexpr int polls_before_sleep = 2000;

  //! Tells the processor that this thread is polling.
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  template <class T, class Predicate>
  static T wait_while(std::atomic<T>& value, Predicate waiting) {
    T seen = value.load(std::memory_order_acquire);
    for (int poll = 0; waiting(seen); ++poll) {
      if (poll < polls_before_sleep) {
        relax();
      } else {
        value.wait(seen, std::memory_order_acquire);
      }
      seen = value.load(std::memory_order_acquire);
    }
    return seen;
  }

  void wake() {
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }

  void dismiss() {
    stop_.store(true, std::memory_order_relaxed);
    wake();
    for (std::thread& thread : threads_) thread.join();
  }

  void serve(int member) {
    for (unsigned done = 0;;) {
      done = wait_while(generation_, [done](unsigned now) { return now == done; });
      if (stop_.load(std::memory_order_relaxed)) return;
      invoke(member);
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    }
  }

  void invoke(int member) noexcept {
    if (member >= members_) return;
    try {
      call_(function_, member);
    } catch (...) {
      const std::scoped_lock lock(failure_mutex_);
      if (failed_member_ < 0 || member < failed_member_) {
        failed_member_ = member;
        failure_ = std::current_exception();
      }
    }
  }

  int size_;
  std::atomic<bool> busy_{false};
  int members_ = 0;
  Call call_ = nullptr;
  void* function_ = nullptr;
  std::atomic<unsigned> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::mutex failure_mutex_;
  int failed_member_ = -1;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace weft
