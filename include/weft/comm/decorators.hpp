// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Communicators that count, delay, drop or fail what another one is asked to do: for tests.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/core/index.hpp>

namespace weft::comm {

//! What a rank sent.
struct Traffic {
  index_t messages = 0;  //!< how many
  index_t bytes = 0;     //!< in all of them
};

//! A communicator that calls `before(messages, purpose)` in front of every `post`, which posts what
//! is left of the messages. What it throws, `post` throws.
template <Communicator C>
class Observed {
 public:
  using Transfer = typename C::Transfer;
  //! May change the messages, or throw.
  using Before = std::function<void(std::vector<Message>&, const Purpose&)>;

  //! Wraps a communicator.
  Observed(C communicator, Before before)
      : communicator_(std::move(communicator)), before_(std::move(before)) {}

  [[nodiscard]] int rank() const { return communicator_.rank(); }
  [[nodiscard]] int size() const { return communicator_.size(); }
  [[nodiscard]] Timeout timeout() const { return communicator_.timeout(); }

  void post(std::span<const Message> messages, const Purpose& purpose, Transfer& transfer) {
    messages_.assign(messages.begin(), messages.end());
    before_(messages_, purpose);
    communicator_.post(messages_, purpose, transfer);
  }

  void abort(int rank, const std::string& message) { communicator_.abort(rank, message); }

  //! What is split off is observed too.
  [[nodiscard]] Observed split(int color, int key) {
    return {communicator_.split(color, key), before_};
  }

 private:
  C communicator_;
  Before before_;
  std::vector<Message> messages_;
};

//! Counts what is sent into `traffic`, which outlives the communicator.
template <Communicator C>
[[nodiscard]] Observed<C> counting(C communicator, Traffic& traffic) {
  return {std::move(communicator), [&traffic](std::vector<Message>& messages, const Purpose&) {
            for (const Message& message : messages) {
              if (message.direction != Message::Direction::send) continue;
              ++traffic.messages;
              traffic.bytes += message.bytes;
            }
          }};
}

//! Comes to every `post` late by what `delay(purpose)` says.
template <Communicator C, class Delay>
[[nodiscard]] Observed<C> delaying(C communicator, Delay delay) {
  return {std::move(communicator), [delay](std::vector<Message>&, const Purpose& purpose) {
            std::this_thread::sleep_for(std::chrono::duration<double>(delay(purpose)));
          }};
}

//! Loses what is sent where `drop(purpose)` is true.
template <Communicator C, class Drop>
[[nodiscard]] Observed<C> dropping(C communicator, Drop drop) {
  return {std::move(communicator), [drop](std::vector<Message>& messages, const Purpose& purpose) {
            if (!drop(purpose)) return;
            std::erase_if(messages, [](const Message& message) {
              return message.direction == Message::Direction::send;
            });
          }};
}

//! Throws an Error in the `nth` post (from 0): a rank that fails.
template <Communicator C>
[[nodiscard]] Observed<C> failing(C communicator, index_t nth) {
  return {std::move(communicator),
          [nth, count = index_t{0}](std::vector<Message>&, const Purpose& purpose) mutable {
            if (count++ == nth) throw Error(text("injected failure in ", to_text(purpose)));
          }};
}

}  // namespace weft::comm
