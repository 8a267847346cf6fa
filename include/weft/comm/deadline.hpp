// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ends the process when a call of somebody else's library does not return.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/core/start_thread.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! The exit status of a rank that gave up.
inline constexpr int aborted_status = 86;

//! While it lives, `what` has to end within the timeout; otherwise the process says so and exits
//! with `aborted_status`, which a launcher answers by ending the other ranks.
//!
//! For calls that wait for other ranks and know no timeout, such as MPI_Init.
class Deadline {
 public:
  //! Begins to watch. **Errors.** SystemError if the system gives no thread.
  Deadline(std::string what, Timeout timeout)
      : watch_(start_thread<std::jthread>("Deadline", [this, what = std::move(what), timeout] {
          std::unique_lock lock(mutex_);
          if (ended_.wait_until(lock, moment_after(timeout), [this] { return over_; })) return;
          std::fprintf(stderr, "%s\n",
                       text(what, " has not returned within ", timeout.count(),
                            " s: another rank does not run")
                           .c_str());
          flush_for_a_second();
          std::_Exit(aborted_status);
        })) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    ended_.notify_one();
  }

 private:
  //! Writes what the program printed, unless another thread is stuck in printing.
  static void flush_for_a_second() {
    std::promise<void> flushed;
    std::thread([&] {
      std::fflush(nullptr);
      flushed.set_value();
    }).detach();
    flushed.get_future().wait_for(std::chrono::seconds(1));
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::jthread watch_;  // last: it uses the members above, and is joined before they go
};

}  // namespace weft::comm
