// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How processes that know only the address of the first find each other.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/arrivals.hpp>
#include <weft/comm/communicator.hpp>
#include <weft/comm/tcp.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/io/file_descriptor.hpp>

namespace weft::comm::detail {

//! Connects every rank with every other; by rank, with none at the place of its own.
//!
//! Rank 0 listens on the port. The others listen too, tell it where, and get the list of all.
class Rendezvous {
 public:
  Rendezvous(int rank, int size, std::string address, int port, Timeout timeout,
             const std::string& job)
      : rank_(rank),
        size_(size),
        address_(std::move(address)),
        port_(port),
        job_(Fingerprint().add(job).value()),
        timeout_(timeout),
        deadline_(moment_after(timeout)),
        sockets_(static_cast<std::size_t>(size)) {}

  //! **Errors.** SystemError if rank 0 cannot listen; ArgumentError if two processes that run have
  //! one rank or they differ in how many there are, or rank 0 is another job's; CommunicatorAborted
  //! names who has not come in time.
  std::vector<io::FileDescriptor> connect() {
    if (size_ == 1) return std::move(sockets_);
    if (rank_ == 0) {
      gather();
    } else {
      join();
    }
    return std::move(sockets_);
  }

 private:
  struct Hello {
    std::uint32_t magic, rank, size, port;
    std::uint64_t job;
  };
  struct Refusal {
    static constexpr std::int32_t nobody = -1;
    std::int32_t culprit;  // the first rank that has not come, or nobody
    std::array<char, 300> words;
  };
  struct Place {
    std::array<char, 64> address;
    std::uint32_t port;
  };
  static constexpr std::uint32_t magic = 0x77656674;  // "weft"
  static constexpr std::uint32_t accepted = magic + 1, refused = magic + 2;

  io::FileDescriptor& socket(int rank) { return sockets_[static_cast<std::size_t>(rank)]; }

  void gather() {
    const auto listener = [&] {
      try {
        return listen_on(port_);
      } catch (const SystemError& error) {
        throw SystemError(text("rank 0 ", error.message(), "; MASTER_PORT names another"));
      }
    }();
    std::vector<Place> places(sockets_.size());
    Arrivals<Hello> arrivals(listener);
    for (int missing = size_ - 1; missing > 0;) {
      auto guest = arrivals.next(deadline_);
      if (!guest) refuse_without_the_missing();
      auto& [guest_socket, hello] = *guest;
      if (hello.magic != magic || has_ended(guest_socket)) continue;  // another program, or gone
      if (hello.job != job_) {  // its own rank 0 may be late, or found the port taken
        tell(guest_socket,
             refusal_of(Refusal::nobody, text("rank 0 at ", address_, ":", port_,
                                              " is another job's: MASTER_PORT names another")));
        continue;
      }
      const auto rank = static_cast<int>(hello.rank);
      if (0 < rank && rank < size_ && socket(rank).is_open() && has_ended(socket(rank))) {
        socket(rank) = {};  // it was started again
        ++missing;
      }
      const bool differs = static_cast<int>(hello.size) != size_;
      if (differs || rank <= 0 || rank >= size_ || socket(rank).is_open()) {
        sockets_.push_back(std::move(guest_socket));  // it is to hear of it too
        refuse(Refusal::nobody, differs ? text("rank ", rank, " was started as one of ", hello.size,
                                               ", rank 0 as one of ", size_)
                                        : text("two processes were started as rank ", rank));
      }
      Place& place = places[hello.rank];
      const std::string address = peer_address(guest_socket);
      address.copy(place.address.data(), place.address.size() - 1);
      place.port = hello.port;
      socket(rank) = std::move(guest_socket);
      --missing;
    }
    for (int rank = 1; rank < size_; ++rank) {
      if (has_ended(socket(rank))) refuse(rank, ended_text(rank));
    }
    for (int rank = 1; rank < size_; ++rank) {
      if (!send_all(socket(rank), &accepted, sizeof accepted, deadline_) ||
          !send_all(socket(rank), places.data(), places.size() * sizeof(Place), deadline_)) {
        refuse(rank, ended_text(rank));  // for those above it, which have no answer yet
      }
    }
  }

  [[nodiscard]] static std::string ended_text(int rank) {
    return text("rank ", rank, " ended while the ranks connected");
  }

  [[noreturn]] void refuse_without_the_missing() {
    int first = Refusal::nobody;
    std::string ranks;
    for (int rank = 1; rank < size_; ++rank) {
      if (socket(rank).is_open()) continue;
      if (first == Refusal::nobody) first = rank;
      ranks += text(rank == first ? "" : ", ", rank);
    }
    const bool several = ranks.find(',') != std::string::npos;
    refuse(first, text("no connection within ", timeout_.count(), " s from rank",
                       several ? "s " : " ", ranks, " to rank 0 at ", address_, ":", port_));
  }

  //! Tells those that have come what is wrong, and throws it.
  [[noreturn]] void refuse(int culprit, const std::string& why) {
    const Refusal refusal = refusal_of(culprit, why);
    for (const auto& guest : sockets_) {
      if (guest.is_open()) tell(guest, refusal);
    }
    raise(refusal);
  }

  [[nodiscard]] static Refusal refusal_of(int culprit, const std::string& why) {
    Refusal refusal{culprit, {}};
    why.copy(refusal.words.data(), refusal.words.size() - 1);
    return refusal;
  }

  static void tell(const io::FileDescriptor& guest, const Refusal& refusal) {
    const auto soon = moment_after(Timeout(1));
    if (send_all(guest, &refused, sizeof refused, soon)) {
      send_all(guest, &refusal, sizeof refusal, soon);
    }
  }

  [[noreturn]] static void raise(const Refusal& refusal) {
    if (refusal.culprit == Refusal::nobody) throw ArgumentError(refusal.words.data());
    throw CommunicatorAborted(refusal.culprit, refusal.words.data());
  }

  void join() {
    const auto listener = listen_on(0);
    auto first = connect_to(address_, port_, deadline_);
    const auto lost = [&] {
      const bool is_late = std::chrono::steady_clock::now() >= deadline_;
      return CommunicatorAborted(
          0, is_late ? text("rank 0 at ", address_, ":", port_, " has not answered rank ", rank_,
                            " within ", timeout_.count(), " s")
                     : text("no rank 0 at ", address_, ":", port_,
                            ": it has ended, or another program has that port"));
    };
    if (!first) throw lost();
    deadline_ = moment_after(timeout_);  // rank 0 was there, and waits no longer than that
    const Hello hello = hello_from(listener);
    std::uint32_t answer = 0;
    const Moment answered = deadline_ + std::chrono::seconds(2);  // after rank 0's own deadline
    if (!send_all(*first, &hello, sizeof hello, deadline_) ||
        !receive_all(*first, &answer, sizeof answer, answered)) {
      throw lost();
    }
    if (answer == refused) {
      Refusal refusal{};
      if (!receive_all(*first, &refusal, sizeof refusal, answered)) throw lost();
      refusal.words.back() = '\0';
      raise(refusal);
    }
    std::vector<Place> places(sockets_.size());
    if (answer != accepted ||
        !receive_all(*first, places.data(), places.size() * sizeof(Place), answered)) {
      throw lost();
    }
    socket(0) = std::move(*first);
    meet(listener, places);
  }

  //! Connects to ranks below this one, and waits for those above it.
  void meet(const io::FileDescriptor& listener, const std::vector<Place>& places) {
    const auto late = [&](int rank) {
      return CommunicatorAborted(rank, text("no connection within ", timeout_.count(),
                                            " s between rank ", rank, " and rank ", rank_));
    };
    const Hello mine = hello_from(listener);
    for (int rank = 1; rank < rank_; ++rank) {
      Place place = places[static_cast<std::size_t>(rank)];
      place.address.back() = '\0';
      std::string address = place.address.data();
      // Where rank 0 saw it at home, it is where rank 0 is.
      if (is_loopback(address)) address = peer_address(socket(0));
      auto other = connect_to(address, static_cast<int>(place.port), deadline_);
      if (!other || !send_all(*other, &mine, sizeof mine, deadline_)) throw late(rank);
      socket(rank) = std::move(*other);
    }
    Arrivals<Hello> arrivals(listener);
    for (int missing = size_ - 1 - rank_; missing > 0;) {
      auto other = arrivals.next(deadline_);
      if (!other) {
        int rank = rank_ + 1;
        while (socket(rank).is_open()) ++rank;
        throw late(rank);
      }
      const Hello& hello = other->hello;
      const int rank = static_cast<int>(hello.rank);
      const bool strange =
          hello.magic != magic || rank <= rank_ || rank >= size_ || hello.job != job_;
      if (strange || socket(rank).is_open()) continue;
      socket(rank) = std::move(other->socket);
      --missing;
    }
  }

  [[nodiscard]] Hello hello_from(const io::FileDescriptor& listener) const {
    return {magic, static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(size_),
            static_cast<std::uint32_t>(port_of(listener)), job_};
  }

  int rank_, size_;
  std::string address_;
  int port_;
  std::uint64_t job_;
  Timeout timeout_;
  Moment deadline_;
  std::vector<io::FileDescriptor> sockets_;
};

}  // namespace weft::comm::detail
