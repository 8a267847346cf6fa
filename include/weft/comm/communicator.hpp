// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The concept of a communicator: how ranks reach each other.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/purpose.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::comm {

//! One direction of one transfer: bytes to a rank, or from it.
struct Message {
  //! Which way the bytes go, seen from the rank that posts.
  enum class Direction { send, receive };

  Direction direction;  //!< which way
  int peer;             //!< the other rank
  std::byte* data;      //!< only read if the direction is `send`
  index_t bytes;        //!< how many, on both sides
};

//! n values to a rank.
template <class T>
[[nodiscard]] Message send_to(int rank, const T* data, index_t n) {
  return {Message::Direction::send, rank,
          const_cast<std::byte*>(reinterpret_cast<const std::byte*>(data)), n * index_t{sizeof(T)}};
}

//! n values from a rank.
template <class T>
[[nodiscard]] Message receive_from(int rank, T* data, index_t n) {
  return {Message::Direction::receive, rank, reinterpret_cast<std::byte*>(data),
          n * index_t{sizeof(T)}};
}

//! Thrown by what a rank is waiting in when a rank failed, left, or did not come in time.
class CommunicatorAborted : public Error {
 public:
  //! Names the culprit, and what to say of it.
  explicit CommunicatorAborted(int culprit, const std::string& message, Place where = Place::here())
      : Error(message, where), culprit_(culprit) {}

  //! The rank that failed or was late, as the outermost communicator counts them.
  [[nodiscard]] int culprit() const { return culprit_; }

 private:
  int culprit_;
};

namespace detail {

//! Ranks 0 to `size` - 1, as an outermost communicator counts them.
[[nodiscard]] inline std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

//! The numbers of `members` in the outermost communicator, where `outer` are those of all ranks.
[[nodiscard]] inline std::vector<int> outer_ranks(const std::vector<int>& members,
                                                  const std::vector<int>& outer) {
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(outer[static_cast<std::size_t>(member)]);
  return ranks;
}

}  // namespace detail

//! What the others hear of a rank that failed.
[[nodiscard]] inline std::string failure_text(int rank, const std::string& message) {
  return text("rank ", rank, " failed: ", message);
}

//! How long a rank waits for others before it gives up.
using Timeout = std::chrono::duration<double>;
//! Ten minutes.
inline constexpr Timeout default_timeout{600.0};

//! The moment when a timeout that begins now is over. One of more than ten years, or without an
//! end, is ten years: clocks count in 64 bits.
[[nodiscard]] inline std::chrono::steady_clock::time_point moment_after(Timeout timeout) {
  constexpr Timeout longest = std::chrono::hours(24 * 3652);
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             timeout < longest ? timeout : longest);
}

//! A rank among `size()` ranks that run the same program.
//!
//! **Semantics.** `post(messages, purpose, transfer)` begins all of these sends and receives at
//! once and returns; `transfer` is ready when all have ended, and the memory is the transfer's
//! until then. Between two ranks, messages of one direction arrive in the order in which they were
//! posted, and both sides post them for the same purpose and with the same size. Nobody posts
//! messages to itself. A transfer serves again for the next batch of messages: nothing is then
//! allocated. `done` makes progress and asks; `wait` waits, at most for the communicator's timeout.
//! Meanwhile all goes on that the rank has posted, also in what was split off. Copies are the same
//! rank: they continue one order of messages, and one sequence of splits.
//!
//! `abort(rank, message)` makes every transfer of every rank fail, here and in what was split off,
//! with the `failure_text` of the rank as the outermost communicator counts it. Nothing is posted
//! after that: what a rank goes on to do never meets what others did before.
//! `split(color, key)` is called by all ranks; those of one color get a communicator of their own,
//! in the order of (key, rank).
//!
//! **Errors.** `post`, `done` and `wait` throw CommunicatorAborted, with the name of the rank that
//! failed or was late and of what it was late for. A transfer that is destroyed before it is ready
//! is given up.
template <class C>
concept Communicator = std::move_constructible<C> &&
    std::default_initializable<typename C::Transfer> && std::movable<typename C::Transfer> &&
    requires(C& communicator, const C& constant, std::span<const Message> messages,
             const Purpose& purpose, typename C::Transfer& transfer, const std::string& message) {
  { constant.rank() } -> std::same_as<int>;
  { constant.size() } -> std::same_as<int>;
  { constant.timeout() } -> std::same_as<Timeout>;
  communicator.post(messages, purpose, transfer);
  { transfer.done() } -> std::same_as<bool>;
  transfer.wait();
  communicator.abort(int{}, message);
  { communicator.split(int{}, int{}) } -> std::same_as<C>;
};

}  // namespace weft::comm
