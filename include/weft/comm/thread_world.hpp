// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What ranks that are threads share: messages without a partner, failures, who waits for
//! whom.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/late.hpp>
#include <weft/comm/purpose.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

namespace weft::comm::detail {

//! The first failure among the ranks of a world and of all that were split from it.
class FirstFailure {
 public:
  void set(int culprit, const std::string& message) {
    const std::scoped_lock lock(mutex_);
    if (failed_) return;
    culprit_ = culprit;
    message_ = message;
    failed_ = true;
  }

  [[nodiscard]] bool happened() const { return failed_; }

  [[noreturn]] void raise() const {
    const std::scoped_lock lock(mutex_);
    throw CommunicatorAborted(culprit_, message_);
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> failed_{false};
  int culprit_ = 0;
  std::string message_;
};

struct ThreadBatch;

//! A message that was posted, and whether its bytes were copied.
struct PostedMessage {
  ThreadBatch* batch;
  Message message;
  bool done;
};

//! The messages of one transfer. All but `posted`'s messages is guarded by the mutex of the rank.
struct ThreadBatch {
  int rank = 0;
  const std::vector<int>* outer = nullptr;  // its world's ranks in the outermost world
  Purpose purpose;
  std::vector<PostedMessage> posted;
  std::size_t missing = 0;

  //! The rank that this one waits for, as the outermost world counts.
  [[nodiscard]] int missing_outer_peer() const {
    const int peer = first_missing_peer(
        posted.size(), [&](std::size_t i) { return posted[i].message; },
        [&](std::size_t i) { return posted[i].done; }, rank);
    return (*outer)[static_cast<std::size_t>(peer)];
  }
};

//! What a rank does, in whichever of the worlds that it is in.
struct RankState {
  std::mutex mutex;
  std::condition_variable arrived;
  Purpose entered;                       // what it posted last
  const ThreadBatch* waiting = nullptr;  // what it waits for
  bool ended = false;                    // it posts nothing more

  //! Says so while it lives. The lock, of `mutex`, may be given up meanwhile.
  class Waiting {
   public:
    Waiting(RankState& rank, std::unique_lock<std::mutex>& lock, const ThreadBatch& batch)
        : rank_(rank), lock_(lock) {
      rank_.waiting = &batch;
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() {
      if (!lock_.owns_lock()) lock_.lock();
      rank_.waiting = nullptr;
    }

   private:
    RankState& rank_;
    std::unique_lock<std::mutex>& lock_;
  };
};

//! What an outermost world shares with all that are split from it.
struct ThreadRanks {
  explicit ThreadRanks(int ranks) : states(static_cast<std::size_t>(ranks)) {}

  FirstFailure failure;
  std::vector<RankState> states;  // by the outermost world's numbers
};

//! What ranks that are threads share.
class ThreadWorld {
 public:
  //! `outer[r]` is the outermost world's number of rank r.
  ThreadWorld(std::vector<int> outer, Timeout timeout, std::shared_ptr<ThreadRanks> ranks)
      : outer_(std::move(outer)),
        timeout_(timeout),
        ranks_(std::move(ranks)),
        links_(outer_.size() * outer_.size()),
        splits_(outer_.size()) {}

  [[nodiscard]] int size() const { return static_cast<int>(outer_.size()); }
  [[nodiscard]] Timeout timeout() const { return timeout_; }

  void post(ThreadBatch& batch) {
    batch.outer = &outer_;
    {
      RankState& mine = state(batch.rank);
      const std::scoped_lock lock(mine.mutex);
      mine.entered = batch.purpose;
    }
    for (PostedMessage& item : batch.posted) post(item);
  }

  //! **Errors.** CommunicatorAborted if a rank has failed.
  void expect_no_failure() const {
    if (ranks_->failure.happened()) ranks_->failure.raise();
  }

  [[nodiscard]] bool done(const ThreadBatch& batch) {
    {
      const std::scoped_lock lock(state(batch.rank).mutex);
      if (batch.missing == 0) return true;
    }
    expect_no_failure();
    return false;
  }

  void wait(ThreadBatch& batch) {
    // A failure in a world that was split from the same one is seen within an interval.
    constexpr std::chrono::milliseconds interval(20);
    const auto deadline = moment_after(timeout_);
    FirstFailure& failure = ranks_->failure;
    RankState& mine = state(batch.rank);
    std::unique_lock lock(mine.mutex);
    const auto ready = [&] { return batch.missing == 0; };
    const RankState::Waiting waiting(mine, lock, batch);
    int ended = none;
    while (!mine.arrived.wait_for(lock, interval, ready) && !failure.happened() &&
           std::chrono::steady_clock::now() < deadline) {
      lock.unlock();
      const int late = find_late(batch);
      const bool has_ended = has_ended_now(late);
      lock.lock();
      // The first time it may have sent what was waited for before it ended.
      if (has_ended && late == ended) break;
      ended = has_ended ? late : none;
    }
    if (!ready() && !failure.happened()) {
      lock.unlock();
      const int late = find_late(batch);
      failure.set(late, describe_late(batch, late));
      lock.lock();
    }
    if (!ready()) failure.raise();
  }

  //! Takes back what has not been copied; afterwards nobody touches the memory of the batch.
  void cancel(ThreadBatch& batch) noexcept {
    for (PostedMessage& item : batch.posted) {
      Link& line = link(item);
      const std::scoped_lock lock(line.mutex);
      std::erase(line.queue, &item);
    }
    batch.posted.clear();
    batch.missing = 0;
  }

  void leave(int rank) {
    RankState& mine = state(rank);
    const std::scoped_lock lock(mine.mutex);
    mine.ended = true;
  }

  void abort(int rank, const std::string& message) {
    ranks_->failure.set(outer(rank), failure_text(outer(rank), message));
  }

  //! The world of the ranks of one color in this rank's next split, of whichever copy of its
  //! communicator: whoever comes first makes it, and the last one takes it along.
  std::shared_ptr<ThreadWorld> subworld(int rank, int color, const std::vector<int>& members) {
    const std::scoped_lock lock(split_mutex_);
    const index_t split = splits_[static_cast<std::size_t>(rank)]++;
    const auto [known, is_first] = subworlds_.try_emplace({split, color});
    Subworld& made = known->second;
    if (is_first) {
      made = {std::make_shared<ThreadWorld>(outer_ranks(members, outer_), timeout_, ranks_),
              members.size()};
    }
    const auto world = made.world;
    if (--made.missing == 0) subworlds_.erase(known);
    return world;
  }

 private:
  static constexpr int none = -1;  // no rank

  //! What was posted from one rank to another and has found no partner: all sends, or all receives.
  struct Link {
    std::mutex mutex;
    std::vector<PostedMessage*> queue;
  };

  //! One that some of its ranks have not asked for yet.
  struct Subworld {
    std::shared_ptr<ThreadWorld> world;
    std::size_t missing = 0;
  };

  [[nodiscard]] int outer(int rank) const { return outer_[static_cast<std::size_t>(rank)]; }
  RankState& outer_state(int rank) { return ranks_->states[static_cast<std::size_t>(rank)]; }
  RankState& state(int rank) { return outer_state(outer(rank)); }

  Link& link(const PostedMessage& item) {
    const bool sends = item.message.direction == Message::Direction::send;
    const int from = sends ? item.batch->rank : item.message.peer;
    const int to = sends ? item.message.peer : item.batch->rank;
    return links_[static_cast<std::size_t>(from) * outer_.size() + static_cast<std::size_t>(to)];
  }

  //! Copies if the partner is there, or queues. Both sides end under the lock of the link, so that
  //! one which took its messages back is not touched afterwards.
  void post(PostedMessage& item) {
    Link& line = link(item);
    const std::scoped_lock lock(line.mutex);
    if (line.queue.empty() || line.queue.front()->message.direction == item.message.direction) {
      line.queue.push_back(&item);
      return;
    }
    PostedMessage& partner = *line.queue.front();
    line.queue.erase(line.queue.begin());
    if (!check_partners(item, partner)) return;
    const bool sends = item.message.direction == Message::Direction::send;
    const Message& from = sends ? item.message : partner.message;
    const Message& to = sends ? partner.message : item.message;
    if (from.bytes > 0) std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes));
    finish(partner);
    finish(item);
  }

  //! Both sides have to agree on what they are doing; else the world has failed.
  bool check_partners(const PostedMessage& item, const PostedMessage& partner) {
    if (item.message.bytes == partner.message.bytes &&
        item.batch->purpose == partner.batch->purpose) {
      return true;
    }
    const auto side = [&](const PostedMessage& x) {
      return text("rank ", outer(x.batch->rank),
                  x.message.direction == Message::Direction::send ? " sends " : " expects ",
                  x.message.bytes, " bytes in ", to_text(x.batch->purpose));
    };
    ranks_->failure.set(outer(item.batch->rank),
                        text("the ranks' programs differ: ", side(partner), ", ", side(item)));
    return false;
  }

  void finish(PostedMessage& item) {
    RankState& owner = state(item.batch->rank);
    const std::scoped_lock lock(owner.mutex);
    item.done = true;
    if (--item.batch->missing == 0) owner.arrived.notify_all();
  }

  //! Follows who waits for whom, in whichever world, to the rank that does not wait; `batch`'s own
  //! peer if all do. Ranks are numbered as in the outermost world.
  int find_late(const ThreadBatch& batch) {
    const int first = peer_missed_by(batch);
    int late = first;
    for (std::size_t steps = 0; steps < ranks_->states.size(); ++steps) {
      RankState& other = outer_state(late);
      const std::scoped_lock lock(other.mutex);
      if (other.waiting == nullptr) return late;
      late = other.waiting->missing_outer_peer();
    }
    return first;
  }

  [[nodiscard]] bool has_ended_now(int outer_rank) {
    RankState& other = outer_state(outer_rank);
    const std::scoped_lock lock(other.mutex);
    return other.ended;
  }

  int peer_missed_by(const ThreadBatch& batch) {
    const std::scoped_lock lock(state(batch.rank).mutex);
    return batch.missing_outer_peer();
  }

  std::string describe_late(const ThreadBatch& batch, int late) {
    RankState& other = outer_state(late);
    const std::scoped_lock lock(other.mutex);
    if (other.waiting != nullptr) {
      return text("the ranks wait for each other: rank ", outer(batch.rank), " in ",
                  to_text(batch.purpose), ", rank ", late, " in ", to_text(other.entered));
    }
    if (other.ended) return ended_text(late, batch.purpose, other.entered);
    return late_text(late, batch.purpose, timeout_, other.entered);
  }

  std::vector<int> outer_;
  Timeout timeout_;
  std::shared_ptr<ThreadRanks> ranks_;
  std::vector<Link> links_;
  std::mutex split_mutex_;
  std::vector<index_t> splits_;                            // that each rank has made
  std::map<std::pair<index_t, int>, Subworld> subworlds_;  // by split and color
};

}  // namespace weft::comm::detail
