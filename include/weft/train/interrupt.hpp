// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Lets SIGINT and SIGTERM end a training at the next good moment.
//!
//!     const Interrupt interrupt;
//!     while (!done && interrupt.signal() == 0) step();
//!     save();
//!     return interrupt.signal() == 0 ? 0 : 128 + interrupt.signal();
//!
//! With ranks, of which some may have got no signal, `Interrupt::on_any_rank` says which one it
//! was.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace weft::train {

//! While one lives, SIGINT and SIGTERM are noted instead of ending the process. A second signal of
//! the same kind ends it at once.
//!
//! Guards may nest and live in several threads; all see the same signals. The last to go puts back
//! the handlers that the first one found. A signal that was ignored (`nohup`, a shell's background
//! job) stays ignored. System calls that a signal interrupts go on.
class Interrupt {
 public:
  Interrupt() {
    const std::lock_guard lock(mutex_);
    if (guards_++ == 0) install();
  }

  ~Interrupt() {
    const std::lock_guard lock(mutex_);
    if (--guards_ == 0) restore();
  }

  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  //! The latest signal since the first guard, or 0.
  [[nodiscard]] int signal() const noexcept { return received_.load(std::memory_order_relaxed); }

  //! A signal that some rank of a strategy has got, or 0, the same on all ranks; `here` is this
  //! one's. All ranks ask. Needs no guard.
  template <class Strategy>
  [[nodiscard]] static int on_any_rank(Strategy& strategy, int here) {
    int found = 0;
    for (const int each : signals) {
      if (strategy.on_any_rank(here == each)) found = each;
    }
    return found;
  }

 private:
  static constexpr std::array<int, 2> signals = {SIGINT, SIGTERM};

  static void note(int signal) { received_.store(signal, std::memory_order_relaxed); }

  // sigaction cannot fail: the signals exist and can be handled.
  static void install() {
    received_ = 0;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action {};
      action.sa_handler = &note;
      action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
      ::sigaction(signals[i], &action, nullptr);
    }
  }

  static void restore() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

  // The table of handlers belongs to the process, and so does what guards keep.
  static inline std::mutex mutex_;
  static inline int guards_ = 0;
  static inline std::array<struct sigaction, signals.size()> before_{};
  static inline std::atomic<int> received_{0};
  static_assert(std::atomic<int>::is_always_lock_free, "a signal handler must not lock");
};

}  // namespace weft::train
