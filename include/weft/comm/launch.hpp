// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Runs one program on every rank.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/error.hpp>

namespace weft::comm {

//! What a program threw on a rank, with the rank's number.
class RankError : public Error {
 public:
  //! Rank `rank` threw `cause`, which says `message`.
  RankError(int rank, const std::string& message, std::exception_ptr cause)
      : Error(text("rank ", rank, ": ", message)), rank_(rank), cause_(std::move(cause)) {}

  [[nodiscard]] int rank() const { return rank_; }
  //! The exception itself.
  [[nodiscard]] const std::exception_ptr& cause() const { return cause_; }

 private:
  int rank_;
  std::exception_ptr cause_;
};

namespace detail {

//! How one rank's program ended.
struct RankOutcome {
  std::exception_ptr failure;
  bool aborted = false;  // it failed because another rank did
};

template <class C, class Program>
void run_rank(C& communicator, const Program& program, RankOutcome& outcome) noexcept {
  try {
    program(communicator);
  } catch (const CommunicatorAborted&) {
    outcome = {std::current_exception(), true};
  } catch (...) {
    outcome = {std::current_exception(), false};
  }
  if (outcome.failure == nullptr) return;
  // Also where others failed: they need not be ranks of this communicator.
  try {
    communicator.abort(communicator.rank(), message_of(outcome.failure));
  } catch (...) {  // no memory for words: the others find this rank late
  }
}

//! Which ranks' programs have ended, and how the first that failed did.
class EndedRanks {
 public:
  explicit EndedRanks(std::size_t ranks) : ended_(ranks) {}

  void end(std::size_t rank, const RankOutcome& outcome) {
    const std::scoped_lock lock(mutex_);
    ended_[rank] = true;
    if (outcome.failure != nullptr && first_failure_ == nullptr) {
      first_failure_ = outcome.failure;
      first_rank_ = rank;
    }
    changed_.notify_all();
  }

  //! Nothing when all have ended; so long after a failure what it was, and which ranks go on: a
  //! thread that does not look cannot be ended.
  [[nodiscard]] std::string wait(std::chrono::milliseconds after_failure) {
    std::unique_lock lock(mutex_);
    const auto all = [&] { return std::ranges::find(ended_, false) == ended_.end(); };
    changed_.wait(lock, [&] { return all() || first_failure_ != nullptr; });
    if (changed_.wait_for(lock, after_failure, all)) return {};
    std::string said =
        text("rank ", first_rank_, ": ", message_of(first_failure_), "\nwaiting for");
    for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
      if (!ended_[rank]) said += text(" rank ", rank);
    }
    return said;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> ended_;
  std::exception_ptr first_failure_;
  std::size_t first_rank_ = 0;
};

}  // namespace detail

//! Calls `program(communicator)` on a thread for each of `ranks` ranks, and returns when all ended.
//! If some go on for five seconds after one has failed, they and the failure are named on the
//! standard error.
//!
//! **Errors.** RankError for the first rank that threw of its own accord: the others leave what
//! they wait in as soon as they see it. CommunicatorAborted if a rank was late, or ended while
//! another waited for it, and none threw.
//! ArgumentError unless there is a rank; SystemError if the system has not so many threads, or no
//! memory to start them.
template <class Program>
void launch_threads(int ranks, Timeout timeout, const Program& program) {
  auto world = ThreadCommunicator::world(ranks, timeout);
  std::vector<detail::RankOutcome> outcomes(world.size());
  detail::EndedRanks ended(world.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(world.size());
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
      try {
        threads.emplace_back([&, rank] {
          detail::run_rank(world[rank], program, outcomes[rank]);
          if (outcomes[rank].failure == nullptr) world[rank].leave();
          ended.end(rank, outcomes[rank]);
        });
      } catch (const std::exception& error) {  // no thread, or no memory for it
        const std::string message =
            text("the system gave ", rank, " of ", ranks, " threads: ", error.what());
        world[rank].abort(static_cast<int>(rank), message);
        throw SystemError(message);
      }
    }
    const std::string stuck = ended.wait(std::chrono::seconds(5));
    if (!stuck.empty()) std::fprintf(stderr, "%s\n", stuck.c_str());
  }
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const auto& [failure, aborted] = outcomes[rank];
    if (failure != nullptr && !aborted) {
      throw RankError(static_cast<int>(rank), message_of(failure), failure);
    }
  }
  for (const auto& outcome : outcomes) {
    if (outcome.failure != nullptr) std::rethrow_exception(outcome.failure);
  }
}

}  // namespace weft::comm
