// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Connections of TCP, with deadlines.
#pragma once

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <weft/comm/communicator.hpp>
#include <weft/core/error.hpp>
#include <weft/io/file_descriptor.hpp>

namespace weft::comm::detail {

using Moment = std::chrono::steady_clock::time_point;

//! Waits until something that is asked for happens on one of some sockets. Whether it has.
inline bool wait_for_any(std::span<pollfd> sockets, Moment deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    constexpr long long most = 1'000'000;  // poll counts milliseconds in an int
    const int ready = ::poll(sockets.data(), static_cast<nfds_t>(sockets.size()),
                             static_cast<int>(std::clamp<long long>(left.count(), 0, most)));
    if (ready > 0) return true;
    if (ready == 0 && left.count() <= most) return false;
    if (ready < 0 && errno != EINTR) throw SystemError(text("poll: ", std::strerror(errno)));
  }
}

//! Waits until a socket can be read (POLLIN) or written (POLLOUT). Whether it can.
inline bool wait_for(const io::FileDescriptor& socket, short events, Moment deadline) {
  pollfd entry{socket.get(), events, 0};
  return wait_for_any(std::span(&entry, 1), deadline);
}

//! A TCP socket. Programs that this one starts do not have it: a connection would stay open with
//! them after its rank has ended.
inline io::FileDescriptor open_socket(int family) {
  return io::FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

//! A socket whose calls do not wait, and that sends what it is given at once.
inline void set_up(const io::FileDescriptor& socket) {
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
}

//! Listens on a port of all addresses; 0: on one that is free.
//!
//! **Errors.** SystemError, as where another process has the port.
inline io::FileDescriptor listen_on(int port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {  // the first takes both, where there is IPv6
    auto socket = open_socket(family);
    error = errno;
    if (!socket.is_open()) continue;
    const int yes = 1, no = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_in6 any{};  // an address of zeros is any; the port is at the same place in both
    any.sin6_family = static_cast<sa_family_t>(family);
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    const auto size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any),
               static_cast<socklen_t>(size)) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0) {
      set_up(socket);
      return socket;
    }
    error = errno;
    if (error == EADDRINUSE || error == EACCES) break;
  }
  throw SystemError(text("cannot listen on port ", port, ": ", std::strerror(error)));
}

//! The port that a socket listens on.
inline int port_of(const io::FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
}

//! The address, in figures, at the other end of a connection.
inline std::string peer_address(const io::FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char name[NI_MAXHOST] = "";
  ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, name, sizeof name, nullptr, 0,
                NI_NUMERICHOST);
  const std::string_view written(name);  // "::ffff:" stands before the old kind of address
  return std::string(written.starts_with("::ffff:") ? written.substr(7) : written);
}

//! Whether an address is of the machine itself, and of no use to another.
inline bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

//! **Errors.** SystemError if `errno` says that the process may open nothing more. Who waits to be
//! accepted is still there then: trying again would take no time, and have no end.
inline void expect_descriptors() {
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
    throw SystemError(text("cannot open a connection: ", std::strerror(errno)));
  }
}

//! Whoever connects next, or none within the deadline.
inline std::optional<io::FileDescriptor> accept_one(const io::FileDescriptor& listener,
                                                    Moment deadline) {
  while (wait_for(listener, POLLIN, deadline)) {
    io::FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) {
      expect_descriptors();
      continue;  // it has gone again
    }
    set_up(socket);
    return socket;
  }
  return std::nullopt;
}

//! Whether the two ends of a connection are one: a port that is tried again and again before
//! anybody listens may be given to the one who tries.
inline bool is_connected_with_itself(const io::FileDescriptor& socket) {
  sockaddr_storage here{}, there{};
  socklen_t size = sizeof here, other_size = sizeof there;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size);
  ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&there), &other_size);
  return size == other_size && std::memcmp(&here, &there, size) == 0;
}

//! A connection, tried again until somebody listens; none within the deadline.
//!
//! **Errors.** ArgumentError where the host has no address. A name that is not known is asked for
//! again for a minute: a cluster may announce its machines as they start.
inline std::optional<io::FileDescriptor> connect_to(const std::string& host, int port,
                                                    Moment deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const Moment announced = std::min(deadline, moment_after(Timeout(60)));
  int status = 0;
  while ((status = ::getaddrinfo(host.c_str(), text(port).c_str(), &hints, &found)) != 0) {
    const Moment until = status == EAI_AGAIN    ? deadline
                         : status == EAI_NONAME ? announced
                                                : Moment::min();
    if (std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  if (status != 0) throw ArgumentError(text("no address of ", host, ": ", ::gai_strerror(status)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  const auto try_one = [&](const addrinfo& address) -> std::optional<io::FileDescriptor> {
    auto socket = open_socket(address.ai_family);
    if (!socket.is_open()) {
      expect_descriptors();
      return std::nullopt;
    }
    set_up(socket);
    if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
      // Whatever does not answer may have another address that does.
      const Moment soon = std::min(deadline, moment_after(Timeout(5)));
      if (errno != EINPROGRESS || !wait_for(socket, POLLOUT, soon)) return std::nullopt;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return std::nullopt;
    }
    if (is_connected_with_itself(socket)) return std::nullopt;
    return socket;
  };
  do {
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
      if (auto socket = try_one(*address)) return socket;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (std::chrono::steady_clock::now() < deadline);
  return std::nullopt;
}

//! Whether the other end of a connection, of which nothing is left to be read, has closed it.
inline bool has_ended(const io::FileDescriptor& socket) {
  char next = 0;
  const auto received = ::recv(socket.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
}

//! Sends all bytes. Whether that was possible within the deadline.
inline bool send_all(const io::FileDescriptor& socket, const void* bytes, std::size_t n,
                     Moment deadline) {
  const auto* next = static_cast<const std::byte*>(bytes);
  while (n > 0) {
    const auto sent = ::send(socket.get(), next, n, MSG_NOSIGNAL);
    if (sent > 0) {
      next += sent;
      n -= static_cast<std::size_t>(sent);
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for(socket, POLLOUT, deadline))) {
      return false;
    }
  }
  return true;
}

//! Receives n bytes. Whether they came within the deadline.
inline bool receive_all(const io::FileDescriptor& socket, void* bytes, std::size_t n,
                        Moment deadline) {
  auto* next = static_cast<std::byte*>(bytes);
  while (n > 0) {
    const auto received = ::recv(socket.get(), next, n, 0);
    if (received > 0) {
      next += received;
      n -= static_cast<std::size_t>(received);
    } else if (received == 0) {
      return false;
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for(socket, POLLIN, deadline))) {
      return false;
    }
  }
  return true;
}

}  // namespace weft::comm::detail
