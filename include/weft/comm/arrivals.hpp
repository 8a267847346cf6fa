// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Who connects, and has said who they are.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/tcp.hpp>
#include <weft/io/file_descriptor.hpp>

namespace weft::comm::detail {

//! Connections to a socket that listens, whose first bytes are a Hello. Those that say nothing, as
//! a health check's or a port scan's, are kept for ten seconds, and nobody waits for them.
template <class Hello>
class Arrivals {
 public:
  //! A connection, and what was said on it.
  struct Guest {
    io::FileDescriptor socket;
    Hello hello;
  };

  //! The socket must outlive it.
  explicit Arrivals(const io::FileDescriptor& listener) : listener_(&listener) {}

  //! Who has said hello next, or nobody within the deadline.
  [[nodiscard]] std::optional<Guest> next(Moment deadline) {
    for (;;) {
      std::vector<pollfd> entries{{listener_->get(), POLLIN, 0}};
      Moment until = deadline;
      for (const Silent& one : silent_) {
        entries.push_back({one.socket.get(), POLLIN, 0});
        until = std::min(until, one.until);
      }
      const bool heard = wait_for_any(entries, until);
      for (std::size_t i = silent_.size(); i-- > 0;) {
        if (entries[i + 1].revents != 0) hear(silent_[i]);
        if (silent_[i].heard < sizeof(Hello)) continue;
        Guest guest{std::move(silent_[i].socket), {}};
        std::memcpy(&guest.hello, silent_[i].bytes.data(), sizeof(Hello));
        silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(i));
        return guest;
      }
      const Moment now = std::chrono::steady_clock::now();
      std::erase_if(silent_,
                    [&](const Silent& one) { return !one.socket.is_open() || one.until <= now; });
      if (entries[0].revents != 0) {
        if (auto socket = accept_one(*listener_, now)) {
          silent_.push_back({std::move(*socket), moment_after(patience), {}, 0});
        }
      } else if (!heard && now >= deadline) {
        return std::nullopt;
      }
    }
  }

 private:
  static constexpr Timeout patience{10.0};

  struct Silent {
    io::FileDescriptor socket;
    Moment until;
    std::array<std::byte, sizeof(Hello)> bytes;
    std::size_t heard;
  };

  //! Takes what has come, and closes a connection that has ended.
  static void hear(Silent& one) {
    const auto received = ::recv(one.socket.get(), one.bytes.data() + one.heard,
                                 one.bytes.size() - one.heard, MSG_DONTWAIT);
    if (received > 0) {
      one.heard += static_cast<std::size_t>(received);
    } else if (received == 0 || (errno != EINTR && errno != EAGAIN)) {
      one.socket = {};
    }
  }

  const io::FileDescriptor* listener_;
  std::vector<Silent> silent_;
};

}  // namespace weft::comm::detail
