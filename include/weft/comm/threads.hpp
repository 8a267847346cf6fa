// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that are threads of one process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/purpose.hpp>
#include <weft/comm/thread_world.hpp>
#include <weft/core/error.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! A rank that is a thread. `ThreadCommunicator::world(n)` makes n of them, one for each thread.
//!
//! A message is copied once, from the sender's memory to the receiver's, by whoever posts last.
class ThreadCommunicator {
 public:
  //! The messages of one `post`.
  class Transfer {
   public:
    Transfer() = default;
    Transfer(Transfer&&) = default;
    Transfer& operator=(Transfer&& other) noexcept {
      give_up();
      world_ = std::move(other.world_);
      batch_ = std::move(other.batch_);
      return *this;
    }
    ~Transfer() { give_up(); }

    [[nodiscard]] bool done() { return world_ == nullptr || world_->done(*batch_); }
    void wait() {
      if (world_ != nullptr) world_->wait(*batch_);
    }

   private:
    friend ThreadCommunicator;

    void give_up() noexcept {
      if (world_ != nullptr) world_->cancel(*batch_);
    }

    std::shared_ptr<detail::ThreadWorld> world_;
    std::unique_ptr<detail::ThreadBatch> batch_;
  };

  //! **Errors.** ArgumentError unless there is at least one rank.
  [[nodiscard]] static std::vector<ThreadCommunicator> world(int ranks,
                                                             Timeout timeout = default_timeout) {
    if (ranks < 1) throw ArgumentError(text("a world of ", ranks, " ranks"));
    const auto shared = std::make_shared<detail::ThreadWorld>(
        detail::all_ranks(ranks), timeout, std::make_shared<detail::ThreadRanks>(ranks));
    std::vector<ThreadCommunicator> result;
    for (int rank = 0; rank < ranks; ++rank) result.push_back(ThreadCommunicator(shared, rank));
    return result;
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return world_->size(); }
  [[nodiscard]] Timeout timeout() const { return world_->timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    transfer.give_up();
    world_->expect_no_failure();
    if (transfer.batch_ == nullptr) transfer.batch_ = std::make_unique<detail::ThreadBatch>();
    transfer.world_ = world_;
    detail::ThreadBatch& batch = *transfer.batch_;
    batch.rank = rank_;
    batch.purpose = purpose;
    batch.posted.clear();
    for (const Message& message : messages) batch.posted.push_back({&batch, message, false});
    batch.missing = batch.posted.size();
    world_->post(batch);
  }

  void abort(int rank, const std::string& message) { world_->abort(rank, message); }

  //! Says that this rank posts nothing more: who waits for it fails at once, not after the timeout.
  void leave() { world_->leave(rank_); }

  [[nodiscard]] ThreadCommunicator split(int color, int key) {
    const auto [members, mine] = split_members(*this, color, key);
    return {world_->subworld(rank_, color, members), mine};
  }

 private:
  ThreadCommunicator(std::shared_ptr<detail::ThreadWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}

  std::shared_ptr<detail::ThreadWorld> world_;
  int rank_;
};

static_assert(Communicator<ThreadCommunicator>);

}  // namespace weft::comm
