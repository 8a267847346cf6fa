// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Runs one program on every rank.
#pragma once

#include <exception>
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

inline std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.message();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

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
    communicator.abort(communicator.rank(), message_of(outcome.failure));
  }
}

}  // namespace detail

//! Calls `program(communicator)` on a thread for each of `ranks` ranks, and returns when all ended.
//!
//! **Errors.** RankError for the first rank that threw of its own accord: the others leave what
//! they wait in as soon as they see it. CommunicatorAborted if a rank was late and none threw.
template <class Program>
void launch_threads(int ranks, Timeout timeout, const Program& program) {
  auto world = ThreadCommunicator::world(ranks, timeout);
  std::vector<detail::RankOutcome> outcomes(world.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
      threads.emplace_back([&, rank] { detail::run_rank(world[rank], program, outcomes[rank]); });
    }
  }
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const auto& [failure, aborted] = outcomes[rank];
    if (failure != nullptr && !aborted) {
      throw RankError(static_cast<int>(rank), detail::message_of(failure), failure);
    }
  }
  for (const auto& outcome : outcomes) {
    if (outcome.failure != nullptr) std::rethrow_exception(outcome.failure);
  }
}

}  // namespace weft::comm
