// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that are processes, under MPI. Needs <mpi.h> and its library.
#pragma once

#ifndef OMPI_SKIP_MPICXX
//! Keeps Open MPI's C++ bindings, which nobody uses, out of every program.
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/comm/collectives.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/control.hpp>
#include <weft/comm/deadline.hpp>
#include <weft/comm/late.hpp>
#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/device/host_memory.hpp>

namespace weft::comm {

namespace detail {

//! **Errors.** Error with MPI's own message unless `code` is MPI_SUCCESS.
inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char message[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, message, &length);
  throw Error(text(call, ": ", std::string(message, static_cast<std::size_t>(length))));
}

//! Words between the ranks of a process's world, beside their data.
class MpiControl final : public Control {
 public:
  //! Of all ranks; rank and size as MPI has them.
  static std::shared_ptr<MpiControl> of_world(Timeout timeout) {
    MPI_Comm world{};
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    int rank = 0, size = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    return std::make_shared<MpiControl>(world, rank, size, timeout);
  }
  MpiControl(MPI_Comm world, int rank, int size, Timeout timeout)
      : Control(rank, size, timeout), world_(world) {}
  ~MpiControl() override {
    if (!failed()) MPI_Comm_free(&world_);
  }

  void listen(bool) override {
    for (;;) {
      int there = 0;
      MPI_Status status;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_, &there, &status), "MPI_Iprobe");
      if (there == 0) return;
      receive(status);
    }
  }

 private:
  //! Small, so that MPI takes it at once whether or not the other rank is alive.
  void say(int to, Word word, const std::string& bytes) override {
    outgoing_.push_back(std::make_unique<std::string>(bytes));
    MPI_Request request;
    check_mpi(MPI_Isend(outgoing_.back()->data(), static_cast<int>(bytes.size()), MPI_BYTE, to,
                        static_cast<int>(word), world_, &request),
              "MPI_Isend");
    MPI_Request_free(&request);
  }

  void receive(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string message(static_cast<std::size_t>(bytes), ' ');
    check_mpi(MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world_,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
    heard(status.MPI_SOURCE, static_cast<Word>(status.MPI_TAG), message);
  }

  MPI_Comm world_;
  std::vector<std::unique_ptr<std::string>> outgoing_;  // MPI may still read them
};

//! A communicator of MPI's, and what came over it last.
struct MpiGroup {
  std::shared_ptr<MpiControl> control;
  MPI_Comm comm{};
  std::vector<int> outer;          // the world's number of each rank
  std::vector<Purpose> last_seen;  // what came from each rank last

  MpiGroup(std::shared_ptr<MpiControl> shared, MPI_Comm of_ranks, std::vector<int> numbers)
      : control(std::move(shared)),
        comm(of_ranks),
        outer(std::move(numbers)),
        last_seen(outer.size(), Purpose{"nothing"}) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  ~MpiGroup() {
    if (!control->failed()) MPI_Comm_free(&comm);
  }
};

//! A number for a purpose that both sides work out; MPI allows tags up to 32767.
inline int tag_of(const Purpose& purpose) {
  return static_cast<int>(Fingerprint().add(to_text(purpose)).value() % 32749);
}

}  // namespace detail

//! A rank that is a process which `mpirun` or `srun` started. All calls are made by one thread.
//!
//! MPI makes progress in `done` and `wait`. A message is as long as its receiver expects, and of
//! the same purpose. MPI counts bytes in an int: longer messages go in pieces.
class MpiCommunicator {
 public:
  class Transfer {
   public:
    Transfer() = default;
    Transfer(Transfer&&) = default;
    Transfer& operator=(Transfer&& other) noexcept {
      give_up();
      group_ = std::move(other.group_);
      messages_ = std::move(other.messages_);
      requests_ = std::move(other.requests_);
      statuses_ = std::move(other.statuses_);
      purpose_ = other.purpose_;
      return *this;
    }
    ~Transfer() { give_up(); }

    [[nodiscard]] bool done() {
      if (requests_.empty()) return true;
      if (test()) return true;
      group_->control->listen(/*waiting=*/false);
      if (group_->control->failed()) group_->control->raise();
      return false;
    }

    void wait() {
      if (requests_.empty()) return;
      group_->control->wait(
          purpose_,
          [this] {
            if (test()) return true;
            sched_yield();
            return false;
          },
          [this] {
            const auto peer = static_cast<std::size_t>(missing_peer());
            return std::pair(group_->outer[peer], group_->last_seen[peer]);
          });
    }

   private:
    friend MpiCommunicator;

    //! Whether all messages have ended. **Errors.** Error if one is not what was expected.
    bool test() {
      int all = 0;
      const int code =
          MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses_.data());
      if (class_of(code) == MPI_ERR_IN_STATUS) refuse_too_long();
      if (code != MPI_SUCCESS) {
        detail::check_mpi(code, text("MPI_Testall in ", to_text(purpose_)).c_str());
      }
      if (all == 0) return false;
      for (std::size_t i = 0; i < messages_.size(); ++i) check(messages_[i], statuses_[i]);
      requests_.clear();
      return true;
    }

    void check(const Message& message, const MPI_Status& status) {
      if (message.direction == Message::Direction::send) return;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      if (bytes != message.bytes || status.MPI_TAG != detail::tag_of(purpose_)) {
        refuse(message, text(bytes));
      }
      group_->last_seen[static_cast<std::size_t>(message.peer)] = purpose_;
    }

    //! Where a message is longer than what was to be received.
    void refuse_too_long() const {
      for (std::size_t i = 0; i < messages_.size(); ++i) {
        if (class_of(statuses_[i].MPI_ERROR) == MPI_ERR_TRUNCATE) {
          refuse(messages_[i], text("more than ", messages_[i].bytes));
        }
      }
    }

    [[nodiscard]] static int class_of(int code) {
      int error_class = MPI_SUCCESS;
      MPI_Error_class(code, &error_class);
      return error_class;
    }

    [[noreturn]] void refuse(const Message& message, const std::string& sent) const {
      throw Error(differing_text(group_->outer[static_cast<std::size_t>(message.peer)], sent,
                                 message.bytes, purpose_));
    }

    [[nodiscard]] int missing_peer() {
      return first_missing_peer(
          messages_.size(), [&](std::size_t i) { return messages_[i]; },
          [&](std::size_t i) {
            int ended = 1;
            if (requests_[i] != MPI_REQUEST_NULL) {
              MPI_Request_get_status(requests_[i], &ended, MPI_STATUS_IGNORE);
            }
            return ended != 0;
          },
          messages_[0].peer);
    }

    //! Only where this rank fails. Others may still read what it sends, out of its memory, and MPI
    //! (over UCX) ends a process that finds it gone, before that process has said what it knows.
    void give_up() noexcept {
      for (MPI_Request& request : requests_) {
        if (request == MPI_REQUEST_NULL) continue;
        HostMemory::keep();
        MPI_Cancel(&request);
        MPI_Request_free(&request);
      }
      requests_.clear();
    }

    std::shared_ptr<detail::MpiGroup> group_;
    std::vector<Message> messages_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    Purpose purpose_;
  };

  //! All processes. Between MPI_Init and MPI_Finalize; `launch_mpi` sees to both, and to
  //! MPI_COMM_WORLD's returning errors, without which MPICH ends a program whose ranks differ
  //! before they are named. No piece of a message is larger than `largest_piece` bytes, which is
  //! the same on all ranks.
  //!
  //! **Errors.** ArgumentError unless that is 1 or more, and an int.
  explicit MpiCommunicator(Timeout timeout = default_timeout,
                           index_t largest_piece = index_t{1} << 30)
      : largest_piece_(largest_piece) {
    constexpr index_t most = std::numeric_limits<int>::max();
    if (largest_piece < 1 || largest_piece > most) {
      throw ArgumentError(text("MPI: pieces of ", largest_piece, " bytes, not 1 to ", most));
    }
    const auto control = detail::MpiControl::of_world(timeout);
    MPI_Comm copy{};
    detail::check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
    set_group(
        std::make_shared<detail::MpiGroup>(control, copy, detail::all_ranks(control->size())));
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(group_->outer.size()); }
  [[nodiscard]] Timeout timeout() const { return group_->control->timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    transfer.give_up();
    if (group_->control->failed()) group_->control->raise();
    transfer.group_ = group_;
    transfer.purpose_ = purpose;
    transfer.messages_.clear();
    for (const Message& message : messages) add_pieces(message, transfer.messages_);
    transfer.requests_.assign(transfer.messages_.size(), MPI_REQUEST_NULL);
    transfer.statuses_.resize(transfer.messages_.size());
    const int tag = detail::tag_of(purpose);
    for (std::size_t i = 0; i < transfer.messages_.size(); ++i) {
      const Message& message = transfer.messages_[i];
      const int bytes = static_cast<int>(message.bytes);
      const int code = message.direction == Message::Direction::send
                           ? MPI_Isend(message.data, bytes, MPI_BYTE, message.peer, tag,
                                       group_->comm, &transfer.requests_[i])
                           : MPI_Irecv(message.data, bytes, MPI_BYTE, message.peer, MPI_ANY_TAG,
                                       group_->comm, &transfer.requests_[i]);
      detail::check_mpi(code, "MPI_Isend or MPI_Irecv");
    }
  }

  void abort(int rank, const std::string& message) {
    const int outer = group_->outer[static_cast<std::size_t>(rank)];
    group_->control->fail(outer, failure_text(outer, message));
  }

  [[nodiscard]] MpiCommunicator split(int color, int key) {
    const auto members = split_members(*this, color, key).first;
    MPI_Comm part{};
    const Deadline deadline("MPI_Comm_split", timeout());
    detail::check_mpi(MPI_Comm_split(group_->comm, color, key, &part), "MPI_Comm_split");
    MpiCommunicator result(*this);
    result.set_group(std::make_shared<detail::MpiGroup>(
        group_->control, part, detail::outer_ranks(members, group_->outer)));
    return result;
  }

 private:
  void add_pieces(Message message, std::vector<Message>& pieces) const {
    for (; message.bytes > largest_piece_; message.bytes -= largest_piece_) {
      pieces.push_back({message.direction, message.peer, message.data, largest_piece_});
      message.data += largest_piece_;
    }
    pieces.push_back(message);
  }

  void set_group(std::shared_ptr<detail::MpiGroup> group) {
    group_ = std::move(group);
    MPI_Comm_rank(group_->comm, &rank_);
  }

  std::shared_ptr<detail::MpiGroup> group_;
  int rank_ = 0;
  index_t largest_piece_;
};

static_assert(Communicator<MpiCommunicator>);

//! Calls `program(communicator)` in this process, which is one rank of `mpirun`'s, and returns 0.
//!
//! MPI is initialised and finalised, unless the caller has initialised it.
//! **Errors.** Error if MPI was finalised before, as by an earlier call: it cannot begin again.
//! Else none is thrown: what the program throws is printed with the rank's number, the other ranks
//! are told and given a moment to say what they know, and MPI ends all processes with
//! `aborted_status`. So does a rank that waits longer than the timeout for the others to start or
//! to end.
template <class Program>
int launch_mpi(Timeout timeout, const Program& program) {
  int finalized = 0, initialized = 0;
  MPI_Finalized(&finalized);
  MPI_Initialized(&initialized);
  if (finalized != 0) {
    throw Error(
        "launch_mpi: MPI was finalized before, as by an earlier launch, and cannot begin "
        "again: launch the ranks once, and do all that they do in one program");
  }
  std::optional<MpiCommunicator> communicator;
  {
    const Deadline deadline("MPI_Init", timeout);
    int provided = 0;
    if (initialized == 0) {
      detail::check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
                        "MPI_Init_thread");
    }
    // MPICH and Intel MPI take what fails in MPI_Testall to this one, whichever the messages' is.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    communicator.emplace(timeout);
  }
  detail::RankOutcome outcome;
  detail::run_rank(*communicator, program, outcome);
  if (outcome.failure != nullptr) {
    std::fprintf(stderr, "rank %d: %s\n", communicator->rank(),
                 message_of(outcome.failure).c_str());
    std::fflush(nullptr);
    // Others are told by messages, which only they can fetch.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    MPI_Abort(MPI_COMM_WORLD, aborted_status);
  }
  const Deadline deadline("MPI_Finalize", timeout);
  // A rank that aborts while others are in MPI_Finalize breaks a fence of PMIx, in which the mpirun
  // of Open MPI 4.1 then crashes or hangs (7 of 192 runs on a busy machine): all ranks enter it
  // together.
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, aborted_status);
  communicator.reset();
  if (initialized == 0) MPI_Finalize();
  return 0;
}

}  // namespace weft::comm
