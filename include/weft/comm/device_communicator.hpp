// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How what lies on a device goes from rank to rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>

namespace weft::comm {

//! Whose messages a communicator carries.
enum class PostedBy {
  all,   //!< every post is made by all ranks, in one order
  pair,  //!< a message is posted by its two ranks
};

//! Sends and receives a device's memory over a communicator that knows only the host's.
//!
//! **Semantics.** As Communicator, with messages on the device: what they send is what the device's
//! earlier operations left there, and operations called after `done` or `wait` see what came.
//! **Cost.** `post` waits for the device, and every byte is copied to the host and back.
template <class D, Communicator C>
class StagedCommunicator {
 public:
  class Transfer {
   public:
    [[nodiscard]] bool done() {
      if (staged_ == nullptr) return true;
      if (!staged_->transfer.done()) return false;
      staged_->arrive();
      return true;
    }
    void wait() {
      if (staged_ == nullptr) return;
      staged_->transfer.wait();
      staged_->arrive();
    }

   private:
    friend StagedCommunicator;

    struct Arrival {
      void* to;
      const std::byte* from;
      index_t bytes;
    };

    struct Staged {
      D* device;
      std::shared_ptr<Arena> arena;
      Memory memory;  // the transfer's until it is given up
      std::vector<Message> messages;
      std::vector<Arrival> arrivals;
      typename C::Transfer transfer{};

      void arrive() {
        for (const auto& [to, from, bytes] : arrivals) device->upload(to, from, bytes);
        arrivals.clear();
        memory = {};
      }
    };

    std::unique_ptr<Staged> staged_;
  };

  //! Messages on `device`, over the ranks of `communicator`.
  StagedCommunicator(D& device, C communicator, PostedBy posted_by = {})
      : device_(&device), communicator_(std::move(communicator)) {
    static_cast<void>(posted_by);  // the host's messages go from rank to rank
  }

  [[nodiscard]] int rank() const { return communicator_.rank(); }
  [[nodiscard]] int size() const { return communicator_.size(); }
  [[nodiscard]] Timeout timeout() const { return communicator_.timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    if (transfer.staged_ == nullptr) {
      transfer.staged_.reset(new typename Transfer::Staged{device_, arena_, {}, {}, {}});
    }
    auto& staged = *transfer.staged_;
    index_t bytes = 0;
    for (const Message& message : messages) bytes += message.bytes;
    // What the transfer had is the old one's until the new one has begun.
    staged.device = device_;
    const auto arena_before = std::exchange(staged.arena, arena_);
    const Memory before = std::exchange(staged.memory, arena_->allocate(bytes));
    staged.messages.assign(messages.begin(), messages.end());
    staged.arrivals.clear();
    std::byte* free = staged.memory.data();
    Message last{Message::Direction::send, rank(), nullptr, 0};  // one piece often goes to all
    std::byte* last_place = nullptr;
    for (Message& message : staged.messages) {
      const bool sends = message.direction == Message::Direction::send;
      if (!sends || message.data != last.data || message.bytes != last.bytes) {
        if (sends) {
          device_->download(free, message.data, message.bytes);
          last = message;
          last_place = free;
        } else {
          staged.arrivals.push_back({message.data, free, message.bytes});
        }
        message.data = std::exchange(free, free + message.bytes);
      } else {
        message.data = last_place;
      }
    }
    communicator_.post(staged.messages, purpose, staged.transfer);
  }

  void abort(int rank, const std::string& message) { communicator_.abort(rank, message); }
  [[nodiscard]] StagedCommunicator split(int color, int key) {
    return {*device_, communicator_.split(color, key)};
  }

 private:
  D* device_;
  C communicator_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
};

//! What carries a device's memory between the ranks of a communicator: that itself where the host
//! reaches the memory. A communicator that reaches devices specialises it.
template <class D, Communicator C>
struct DeviceCommunicatorOf {
  //! Itself on the host, and staged elsewhere.
  using Type = std::conditional_t<D::on_host, C, StagedCommunicator<D, C>>;
};

//! What carries a device's memory between the ranks of a communicator.
template <class D, Communicator C>
using DeviceCommunicator = typename DeviceCommunicatorOf<D, C>::Type;

//! A communicator of the same ranks, for messages that lie on `device`: they keep an order of their
//! own. All ranks make it together.
template <class D, Communicator C>
[[nodiscard]] DeviceCommunicator<D, C> device_communicator(D& device, C& communicator,
                                                           PostedBy posted_by) {
  auto part = communicator.split(0, communicator.rank());
  if constexpr (D::on_host) {
    return part;
  } else {
    return {device, std::move(part), posted_by};
  }
}

}  // namespace weft::comm
