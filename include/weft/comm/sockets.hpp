// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that are processes, over TCP: nothing but the operating system is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/deadline.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/late.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/rendezvous.hpp>
#include <weft/comm/socket_mesh.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>

namespace weft::comm {

//! A rank that is a process, connected with the others by TCP. All calls are made by one thread.
//!
//! Messages make progress in `post`, `done` and `wait`.
class SocketCommunicator {
  struct Group {
    std::shared_ptr<detail::SocketMesh> mesh;
    std::uint64_t id;
    std::vector<int> outer;  // the world's number of each rank
    std::uint64_t splits = 0;
  };

 public:
  //! The messages of one `post`.
  class Transfer {
   public:
    Transfer() = default;
    Transfer(Transfer&&) = default;
    Transfer& operator=(Transfer&& other) noexcept {
      give_up();
      group_ = std::move(other.group_);
      batch_ = std::move(other.batch_);
      return *this;
    }
    ~Transfer() { give_up(); }

    [[nodiscard]] bool done() {
      if (batch_ == nullptr || batch_->missing == 0) return true;
      detail::SocketMesh& mesh = *group_->mesh;
      mesh.listen(/*waiting=*/false);
      if (batch_->missing == 0) return true;
      if (mesh.failed()) mesh.raise();
      mesh.expect_peers(*batch_);
      return false;
    }

    void wait() {
      if (batch_ == nullptr) return;
      detail::SocketMesh& mesh = *group_->mesh;
      mesh.wait(
          batch_->purpose,
          [&] {
            if (batch_->missing == 0) return true;
            if (!mesh.failed()) mesh.expect_peers(*batch_);
            return false;
          },
          [&] {
            const int peer = first_missing_peer(
                batch_->items.size(), [&](std::size_t i) { return batch_->items[i].message; },
                [&](std::size_t i) { return batch_->items[i].done; }, 0);
            const int late = group_->outer[static_cast<std::size_t>(peer)];
            return std::pair(late, mesh.last_seen(late));
          });
    }

   private:
    friend SocketCommunicator;

    void give_up() noexcept {
      if (batch_ != nullptr) group_->mesh->cancel(*batch_);
    }

    std::shared_ptr<Group> group_;
    std::unique_ptr<detail::SocketBatch> batch_;
  };

  //! Rank `rank` of `size`; rank 0 listens on `port`, and is found at `address` by the others.
  //! Processes of another `job` are sent away by rank 0, and not counted.
  //!
  //! **Errors.** SystemError if the port is taken; ArgumentError if the ranks were started with
  //! other numbers, or rank 0 in another job; CommunicatorAborted names the rank that has not come
  //! within the timeout.
  SocketCommunicator(int rank, int size, const std::string& address, int port,
                     Timeout timeout = default_timeout, const std::string& job = {})
      : rank_(rank) {
    if (rank < 0 || rank >= size) throw ArgumentError(text("rank ", rank, " of ", size));
    auto sockets = detail::Rendezvous(rank, size, address, port, timeout, job).connect();
    group_ = std::make_shared<Group>(
        Group{std::make_shared<detail::SocketMesh>(rank, std::move(sockets), timeout), 1,
              detail::all_ranks(size)});
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(group_->outer.size()); }
  [[nodiscard]] Timeout timeout() const { return group_->mesh->timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    transfer.give_up();
    if (group_->mesh->failed()) group_->mesh->raise();
    transfer.group_ = group_;
    if (transfer.batch_ == nullptr) transfer.batch_ = std::make_unique<detail::SocketBatch>();
    detail::SocketBatch& batch = *transfer.batch_;
    batch.group = group_->id;
    batch.outer = &group_->outer;
    batch.purpose = purpose;
    for (const Message& message : messages) batch.items.push_back({&batch, message});
    batch.missing = batch.items.size();
    group_->mesh->post(batch);
  }

  void abort(int rank, const std::string& message) {
    const int outer = group_->outer[static_cast<std::size_t>(rank)];
    group_->mesh->fail(outer, failure_text(outer, message));
  }

  [[nodiscard]] SocketCommunicator split(int color, int key) {
    const auto [members, mine] = split_members(*this, color, key);
    const std::uint64_t id = Fingerprint()
                                 .add(group_->id)
                                 .add(group_->splits++)
                                 .add(static_cast<std::uint64_t>(color))
                                 .value();
    SocketCommunicator part(*this);
    part.group_ = std::make_shared<Group>(
        Group{group_->mesh, id, detail::outer_ranks(members, group_->outer)});
    part.rank_ = mine;
    return part;
  }

  //! Lets what was said arrive, and waits for the others to end, for a while. The last call.
  void close(Timeout patience) { group_->mesh->close(patience); }

 private:
  std::shared_ptr<Group> group_;
  int rank_;
};

static_assert(Communicator<SocketCommunicator>);

//! Calls `program(communicator)` in this process, which is one rank of those that torchrun, or
//! whoever sets its variables, has started, and returns 0.
//!
//! **Errors.** As SocketCommunicator's. What the program throws is printed with the rank's number,
//! the other ranks are told, and the process exits with `aborted_status`.
template <class Program>
int launch_sockets(const Environment& environment, Timeout timeout, const Program& program) {
  SocketCommunicator communicator(environment.rank, environment.size, environment.master_address,
                                  environment.master_port, timeout, environment.job);
  detail::RankOutcome outcome;
  detail::run_rank(communicator, program, outcome);
  constexpr Timeout patience{2.0};
  if (outcome.failure == nullptr) {
    const auto last = [](SocketCommunicator& all) { barrier(all, {"the end"}); };
    detail::run_rank(communicator, last, outcome);
  }
  if (outcome.failure != nullptr) {
    std::fprintf(stderr, "rank %d: %s\n", communicator.rank(), message_of(outcome.failure).c_str());
  }
  communicator.close(patience);
  if (outcome.failure != nullptr) {
    std::fflush(nullptr);
    std::_Exit(aborted_status);
  }
  return 0;
}

}  // namespace weft::comm
