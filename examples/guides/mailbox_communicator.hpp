// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that leave each other's messages in mailboxes: the smallest whole communicator.
// [office]
#pragma once

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/late.hpp>
#include <weft/core/error.hpp>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace guides {

namespace comm = weft::comm;
using weft::index_t;

//! What all ranks share: letters under way, how many there were, and the first failure.
struct PostOffice {
  struct Letter {
    std::vector<std::byte> bytes;
    comm::Purpose purpose;
  };
  //! A group of ranks, and from which of them to which.
  using Way = std::tuple<std::string, int, int>;
  //! The letter's number on its way.
  using Address = std::pair<Way, index_t>;

  std::mutex mutex;
  std::condition_variable news;
  std::map<Address, Letter> letters;
  std::map<Way, index_t> sent, received;                  // how many
  std::map<std::pair<std::string, int>, index_t> splits;  // that each rank of a group has made
  std::map<int, comm::Purpose> last_seen;             // what each rank posted last
  std::optional<std::pair<int, std::string>> failed;  // who, and what it said
};
// [office]

// [rank]
//! A rank that is a thread; every message is copied into the office and out of it.
class MailboxCommunicator {
 public:
  // [rank]
  // [transfer]
  //! The receives of one `post` that have not been served; sends have ended when they are posted.
  class Transfer {
   public:
    bool done() {
      if (communicator_ == nullptr) return true;
      const std::scoped_lock lock(communicator_->office_->mutex);
      return communicator_->serve(*this);
    }
    void wait() {
      if (communicator_ != nullptr) communicator_->wait_for(*this);
    }

   private:
    friend MailboxCommunicator;
    MailboxCommunicator* communicator_ = nullptr;
    comm::Purpose purpose_;
    std::vector<std::pair<comm::Message, PostOffice::Address>> open_;
  };
  // [transfer]

  // [rank]
  MailboxCommunicator(std::shared_ptr<PostOffice> office, std::string group, std::vector<int> outer,
                      int rank, comm::Timeout timeout)
      : office_(std::move(office)),
        group_(std::move(group)),
        outer_(std::move(outer)),
        rank_(rank),
        timeout_(timeout) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(outer_.size()); }
  comm::Timeout timeout() const { return timeout_; }

  // [rank]
  // [post]
  void post(std::span<const comm::Message> messages, const comm::Purpose& purpose,
            Transfer& transfer) {
    const std::scoped_lock lock(office_->mutex);
    expect_no_failure();
    transfer.communicator_ = this;
    transfer.purpose_ = purpose;
    transfer.open_.clear();
    office_->last_seen[outer_rank(rank_)] = purpose;
    for (const comm::Message& message : messages) {
      if (message.direction == comm::Message::Direction::send) {
        const PostOffice::Way way{group_, rank_, message.peer};
        office_->letters[{way, office_->sent[way]++}] = {
            {message.data, message.data + message.bytes}, purpose};
      } else {
        // The nth receive from a rank gets its nth letter, whichever transfer asks first.
        const PostOffice::Way way{group_, message.peer, rank_};
        transfer.open_.push_back({message, {way, office_->received[way]++}});
      }
    }
    office_->news.notify_all();
  }
  // [post]

  // [abort]
  void abort(int rank, const std::string& message) {
    const std::scoped_lock lock(office_->mutex);
    fail(outer_rank(rank), comm::failure_text(outer_rank(rank), message));
  }

  MailboxCommunicator split(int color, int key) {
    const auto [members, mine] = comm::split_members(*this, color, key);
    std::vector<int> outer;
    for (const int member : members) outer.push_back(outer_rank(member));
    const std::scoped_lock lock(office_->mutex);
    const index_t number = office_->splits[{group_, rank_}]++;
    return {office_, weft::text(group_, "/", number, ".", color), outer, mine, timeout_};
  }
  // [abort]

  // [rank]
 private:
  int outer_rank(int rank) const { return outer_[static_cast<std::size_t>(rank)]; }

  void fail(int culprit, const std::string& message) {
    if (!office_->failed) office_->failed = {culprit, message};
    office_->news.notify_all();
  }

  void expect_no_failure() const {
    if (!office_->failed) return;
    throw comm::CommunicatorAborted(office_->failed->first, office_->failed->second);
  }

  // [rank]
  // [serve]
  //! Takes the letters that are there, and says whether none is missing. The office is locked.
  bool serve(Transfer& transfer) {
    std::erase_if(transfer.open_, [&](const auto& open) {
      const auto& [message, address] = open;
      const auto found = office_->letters.find(address);
      if (found == office_->letters.end()) return false;
      const auto& [bytes, purpose] = found->second;
      if (static_cast<index_t>(bytes.size()) != message.bytes || purpose != transfer.purpose_) {
        fail(outer_rank(message.peer),
             weft::text("the ranks' programs differ: rank ", outer_rank(message.peer), " sends ",
                        bytes.size(), " bytes in ", to_text(purpose), ", rank ", outer_rank(rank_),
                        " expects ", message.bytes, " in ", to_text(transfer.purpose_)));
        return false;
      }
      if (!bytes.empty()) std::memcpy(message.data, bytes.data(), bytes.size());
      office_->letters.erase(found);
      return true;
    });
    if (!transfer.open_.empty()) expect_no_failure();
    return transfer.open_.empty();
  }

  void wait_for(Transfer& transfer) {
    const auto deadline = comm::moment_after(timeout_);
    std::unique_lock lock(office_->mutex);
    while (!serve(transfer)) {
      if (office_->news.wait_until(lock, deadline) != std::cv_status::timeout) continue;
      if (serve(transfer)) return;
      const int late = outer_rank(transfer.open_.front().first.peer);
      fail(late, comm::late_text(late, transfer.purpose_, timeout_, office_->last_seen[late]));
    }
  }
  // [serve]

  // [rank]
  std::shared_ptr<PostOffice> office_;
  std::string group_;
  std::vector<int> outer_;  // the group's ranks, as the first group counts them
  int rank_;
  comm::Timeout timeout_;
};

static_assert(comm::Communicator<MailboxCommunicator>);

}  // namespace guides
// [rank]
