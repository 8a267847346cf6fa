// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The connections of a process with all other ranks.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/comm/control.hpp>
#include <weft/comm/late.hpp>
#include <weft/comm/tcp.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/io/file_descriptor.hpp>

namespace weft::comm::detail {

struct SocketBatch;

//! A message that was posted, and whether it has gone or come.
struct SocketItem {
  SocketBatch* batch;
  Message message;
  bool done = false;
};

//! The messages of one transfer.
struct SocketBatch {
  std::uint64_t group = 0;
  const std::vector<int>* outer = nullptr;  // the world's number of each rank of the group
  Purpose purpose;
  std::vector<SocketItem> items;
  std::size_t missing = 0;

  void finish(SocketItem& item) {
    item.done = true;
    --missing;
  }
  [[nodiscard]] int peer(const SocketItem& item) const {
    return (*outer)[static_cast<std::size_t>(item.message.peer)];
  }
};

//! The connections of a process with all other ranks, and what is under way on them.
class SocketMesh final : public Control {
 public:
  SocketMesh(int rank, std::vector<io::FileDescriptor> sockets, Timeout timeout)
      : Control(rank, static_cast<int>(sockets.size()), timeout) {
    for (auto& socket : sockets) peers_.emplace_back().socket = std::move(socket);
  }

  void post(SocketBatch& batch) {
    for (SocketItem& item : batch.items) {
      Peer& other = peer(batch.peer(item));
      if (item.message.direction == Message::Direction::send) {
        other.outgoing.push_back({header_of(batch, item.message), {}, &item, item.message.data, 0});
      } else {
        other.channels[batch.group].expect(*this, item, other.last_seen);
      }
    }
    listen(false);
  }

  //! Takes back what has not gone or come; afterwards nobody touches the memory of the batch.
  void cancel(SocketBatch& batch) noexcept {
    for (SocketItem& item : batch.items) {
      if (item.done) continue;
      Peer& other = peer(batch.peer(item));
      for (auto out = other.outgoing.begin(); out != other.outgoing.end(); ++out) {
        if (out->item != &item) continue;
        if (out->sent == 0) {
          other.outgoing.erase(out);
        } else {
          out->own();  // what has begun must end, or the next message is not understood
        }
        break;
      }
      Channel& channel = other.channels[batch.group];
      std::erase(channel.expected, &item);
      if (!channel.arrivals.empty() && channel.arrivals.back().taker == &item) {
        other.incoming.redirect();  // one that has a taker is on its way, and the last
        other.incoming.arrival = nullptr;
        channel.arrivals.pop_back();
      }
      if (other.incoming.item == &item) other.incoming.redirect();
    }
    batch.items.clear();
    batch.missing = 0;
  }

  //! Sends and receives what can be, for at most a millisecond if there is nothing to do.
  void listen(bool waiting) override {
    if (move_all() || !waiting) return;
    std::vector<pollfd> entries;
    for (const Peer& other : peers_) {
      if (!other.socket.is_open()) continue;
      const short events = other.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
      entries.push_back({other.socket.get(), events, 0});
    }
    if (!entries.empty()) ::poll(entries.data(), entries.size(), 1);
    move_all();
  }

  //! **Errors.** CommunicatorAborted if a rank has ended that the batch needs.
  void expect_peers(const SocketBatch& batch) {
    for (const SocketItem& item : batch.items) {
      const int other = batch.peer(item);
      if (item.done || peer(other).socket.is_open()) continue;
      if (!failed()) {
        fail(other, text("rank ", other, " has ended or was killed: its connection was closed in ",
                         to_text(batch.purpose)));
      }
      raise();
    }
  }

  [[nodiscard]] const Purpose& last_seen(int rank) { return peer(rank).last_seen; }

  //! Lets what was said arrive before the process ends; others may end first.
  void close(Timeout patience) {
    const auto until = moment_after(patience);
    const auto busy = [&] {
      return std::ranges::any_of(peers_, [](const Peer& other) {
        return other.socket.is_open() && !other.outgoing.empty();
      });
    };
    while (busy() && std::chrono::steady_clock::now() < until) listen(true);
    for (Peer& other : peers_) {
      if (other.socket.is_open()) ::shutdown(other.socket.get(), SHUT_WR);
    }
    // Closing with something unread would take back what was sent.
    const auto any_open = [&] {
      return std::ranges::any_of(peers_, [](const Peer& other) { return other.socket.is_open(); });
    };
    while (any_open() && std::chrono::steady_clock::now() < until) listen(true);
  }

 private:
  struct Header {
    std::uint64_t word;   // one of Control's, or 0: a message
    std::uint64_t group;  // of a message
    std::uint64_t tag;    // says the message's purpose
    std::uint64_t bytes;
  };

  //! A header and what follows it, on the way to a rank.
  struct Outgoing {
    Header header;
    std::string owned;  // where the bytes are nobody else's
    SocketItem* item;   // null: nobody waits for it
    const std::byte* data;
    std::size_t sent;

    [[nodiscard]] std::size_t size() const { return sizeof header + header.bytes; }
    void own() {
      owned.assign(reinterpret_cast<const char*>(data), header.bytes);
      item = nullptr;
      data = nullptr;
    }
    [[nodiscard]] const std::byte* bytes() const {
      return data != nullptr ? data : reinterpret_cast<const std::byte*>(owned.data());
    }
  };

  //! A message that came before it was expected.
  struct Arrival {
    Header header;
    std::vector<std::byte> bytes;
    bool complete = false;
    SocketItem* taker = nullptr;
  };

  //! What comes from one rank in one group.
  struct Channel {
    std::deque<SocketItem*> expected;
    std::deque<Arrival> arrivals;

    void expect(SocketMesh& mesh, SocketItem& item, Purpose& last_seen) {
      for (Arrival& arrival : arrivals) {
        if (arrival.taker != nullptr) continue;
        if (!mesh.fits(arrival.header, item)) return;
        arrival.taker = &item;
        hand_over(last_seen);
        return;
      }
      expected.push_back(&item);
    }

    //! Gives complete messages at the front to those that expect them.
    void hand_over(Purpose& last_seen) {
      while (!arrivals.empty() && arrivals.front().complete && arrivals.front().taker != nullptr) {
        const Arrival& first = arrivals.front();
        if (!first.bytes.empty()) {
          std::memcpy(first.taker->message.data, first.bytes.data(), first.bytes.size());
        }
        last_seen = first.taker->batch->purpose;
        first.taker->batch->finish(*first.taker);
        arrivals.pop_front();
      }
    }
  };

  //! What is being read.
  struct Incoming {
    Header header{};
    std::size_t read = 0;        // of the header and what follows it
    std::byte* to = nullptr;     // where that goes; null: nowhere
    SocketItem* item = nullptr;  // whose memory that is
    Arrival* arrival = nullptr;  // or this one's
    std::vector<std::byte> owned;

    //! There is no memory for it any more: the rest goes nowhere.
    void redirect() {
      to = nullptr;
      item = nullptr;
    }
  };

  struct Peer {
    io::FileDescriptor socket;
    std::deque<Outgoing> outgoing;
    Incoming incoming;
    std::map<std::uint64_t, Channel> channels;
    Purpose last_seen{"nothing"};
  };

  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  static std::uint64_t tag_of(const Purpose& purpose) {
    return Fingerprint().add(to_text(purpose)).value();
  }
  static Header header_of(const SocketBatch& batch, const Message& message) {
    return {0, batch.group, tag_of(batch.purpose), static_cast<std::uint64_t>(message.bytes)};
  }

  void say(int to, Word word, const std::string& bytes) override {
    Peer& other = peer(to);
    if (!other.socket.is_open()) return;
    // In front of messages that have not begun, which may be long.
    const auto place =
        std::ranges::find_if(other.outgoing, [](const Outgoing& out) { return out.sent == 0; });
    other.outgoing.insert(
        place,
        {{static_cast<std::uint64_t>(word), 0, 0, bytes.size()}, bytes, nullptr, nullptr, 0});
  }

  //! Whether anything moved.
  bool move_all() {
    bool moved = false;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      Peer& other = peers_[rank];
      if (!other.socket.is_open()) continue;
      moved = write(other) || moved;
      moved = read(static_cast<int>(rank), other) || moved;
    }
    return moved;
  }

  bool write(Peer& other) {
    bool moved = false;
    while (!other.outgoing.empty()) {
      Outgoing& out = other.outgoing.front();
      std::array<iovec, 2> parts{};
      int count = 0;
      const auto add = [&](const void* bytes, std::size_t size) {
        if (size > 0) parts[static_cast<std::size_t>(count++)] = {const_cast<void*>(bytes), size};
      };
      const std::size_t of_header = std::min(out.sent, sizeof(Header));
      add(reinterpret_cast<const std::byte*>(&out.header) + of_header, sizeof(Header) - of_header);
      const std::size_t of_bytes = out.sent - of_header;
      add(out.bytes() + of_bytes, out.header.bytes - of_bytes);
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = static_cast<std::size_t>(count);
      const auto sent = ::sendmsg(other.socket.get(), &message, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        return moved;  // full; or closed, which reading notices
      }
      moved = true;
      out.sent += static_cast<std::size_t>(sent);
      if (out.sent < out.size()) return moved;
      if (out.item != nullptr) out.item->batch->finish(*out.item);
      other.outgoing.pop_front();
    }
    return moved;
  }

  bool read(int rank, Peer& other) {
    bool moved = false;
    Incoming& in = other.incoming;
    for (;;) {
      const bool of_header = in.read < sizeof(Header);
      const bool is_kept = of_header || in.to != nullptr;
      std::byte* to = of_header ? reinterpret_cast<std::byte*>(&in.header) + in.read
                      : is_kept ? in.to + (in.read - sizeof(Header))
                                : nowhere_.data();
      const std::size_t end = of_header ? sizeof(Header) : sizeof(Header) + in.header.bytes;
      const std::size_t most = is_kept ? end - in.read : std::min(end - in.read, nowhere_.size());
      const auto received = ::recv(other.socket.get(), to, most, 0);
      if (received < 0 && errno == EINTR) continue;
      if (received < 0 && errno == EAGAIN) return moved;
      if (received <= 0) {
        other.socket = {};
        return true;
      }
      moved = true;
      in.read += static_cast<std::size_t>(received);
      if (in.read < end) continue;
      if (of_header) {
        if (!may_be_sent(in.header)) {
          other.socket = {};
          in = {};
          fail(rank, text("rank ", rank, " sends what no rank of this program does"));
          return true;
        }
        try {
          begin(other);
        } catch (...) {  // no memory: what follows would go to the place of the message before
          other.socket = {};
          in = {};
          throw;
        }
        if (in.header.bytes > 0) continue;
      }
      finish(rank, other);
    }
  }

  //! Whether a rank sends such headers: another version of the program may send others. A message
  //! may have any length, and one that is not expected yet takes as much memory.
  [[nodiscard]] static bool may_be_sent(const Header& header) {
    if (header.word == 0) return header.bytes <= std::uint64_t{INT64_MAX};
    return header.word <= static_cast<std::uint64_t>(Word::answer) && header.bytes <= most_bytes;
  }

  //! A header has come: finds a place for what follows.
  void begin(Peer& other) {
    Incoming& in = other.incoming;
    in.item = nullptr;
    in.arrival = nullptr;
    if (in.header.word != 0) {
      in.owned.resize(in.header.bytes);
      in.to = in.owned.data();
      return;
    }
    Channel& channel = other.channels[in.header.group];
    if (!channel.expected.empty()) {
      SocketItem& item = *channel.expected.front();
      if (!fits(in.header, item)) {
        in.redirect();
        return;
      }
      channel.expected.pop_front();
      in.item = &item;
      in.to = item.message.data;
    } else {
      std::vector<std::byte> bytes(in.header.bytes);
      Arrival& arrival = channel.arrivals.emplace_back();
      arrival.header = in.header;
      arrival.bytes = std::move(bytes);
      in.arrival = &arrival;  // a deque's elements stay where they are
      in.to = arrival.bytes.data();
    }
  }

  //! All that follows a header has come.
  void finish(int rank, Peer& other) {
    Incoming& in = other.incoming;
    in.read = 0;
    if (in.header.word != 0) {
      const std::string said(reinterpret_cast<const char*>(in.owned.data()), in.header.bytes);
      const auto word = static_cast<Word>(in.header.word);
      if (word == Word::failure) {
        pass_on(said);  // connections have no common order: a third rank might see this end first
      } else {
        heard(rank, word, said);
      }
    } else if (in.item != nullptr) {
      other.last_seen = in.item->batch->purpose;
      in.item->batch->finish(*in.item);
    } else if (in.arrival != nullptr) {
      in.arrival->complete = true;
      other.channels[in.header.group].hand_over(other.last_seen);
    }
    in.item = nullptr;
    in.arrival = nullptr;
  }

  //! Both sides have to agree on what they are doing; else the world has failed, which whoever
  //! waits will see.
  bool fits(const Header& header, const SocketItem& item) {
    const SocketBatch& batch = *item.batch;
    if (header.bytes == static_cast<std::uint64_t>(item.message.bytes) &&
        header.tag == tag_of(batch.purpose)) {
      return true;
    }
    fail(rank(),
         differing_text(batch.peer(item), text(header.bytes), item.message.bytes, batch.purpose));
    return false;
  }

  std::vector<Peer> peers_;
  std::array<std::byte, std::size_t{1} << 16> nowhere_{};  // for what nobody has memory for
};

}  // namespace weft::comm::detail
