// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Collectives, each made of one or two rounds of messages from every rank to every other.
//!
//! A rank waits for each of the others itself, so that the one which is missing is named. The bytes
//! sent are those of a ring, but for `all_reduce`, which is for a few values and gathers those of
//! all ranks. Every rank calls the same collectives in the same order.
//!
//! `broadcast`, `start_all_gather` and `all_gather_ranges` only move numbers: with a
//! `device_communicator` these lie on a GPU. The others add or copy some, in the host's memory.
//!
//!     collective       is the adjoint of
//!     all_gather       reduce_scatter
//!     reduce_scatter   all_gather
//!     broadcast        reduce, which no strategy of ranks needs and is not here
//!     all_to_all       all_to_all with what is sent and received exchanged
//!     all_reduce       all_reduce
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/comm/communicator.hpp>
#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/core/tree_pairs.hpp>

namespace weft::comm {

//! Sends and receives messages, and returns when all have ended.
template <Communicator C>
void exchange(C& communicator, std::span<const Message> messages, const Purpose& purpose) {
  typename C::Transfer transfer;
  communicator.post(messages, purpose, transfer);
  transfer.wait();
}

//! Begins an all_gather: rank r's piece of `data` goes to all others. The pieces are disjoint.
//!
//! **Cost.** A rank sends its piece N - 1 times and receives the others' pieces.
template <Communicator C, class T>
void start_all_gather(C& communicator, T* data, std::span<const Range> pieces,
                      const Purpose& purpose, typename C::Transfer& transfer,
                      std::vector<Message>& messages) {
  messages.clear();
  const int rank = communicator.rank();
  const Range mine = pieces[static_cast<std::size_t>(rank)];
  for (int peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) continue;
    const Range theirs = pieces[static_cast<std::size_t>(peer)];
    if (theirs.size() > 0) {
      messages.push_back(receive_from(peer, data + theirs.begin, theirs.size()));
    }
    if (mine.size() > 0) messages.push_back(send_to(peer, data + mine.begin, mine.size()));
  }
  communicator.post(messages, purpose, transfer);
}

//! An all_gather of pieces that lie apart: rank r's are `ranges_of(r)` of `data`, on all ranks.
//!
//! **Cost.** A rank sends its ranges N - 1 times.
template <Communicator C, class T, class RangesOf>
void all_gather_ranges(C& communicator, T* data, const RangesOf& ranges_of,
                       const Purpose& purpose) {
  std::vector<Message> messages;
  const int rank = communicator.rank();
  for (int peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) continue;
    for (const Range theirs : ranges_of(peer)) {
      messages.push_back(receive_from(peer, data + theirs.begin, theirs.size()));
    }
    for (const Range mine : ranges_of(rank)) {
      messages.push_back(send_to(peer, data + mine.begin, mine.size()));
    }
  }
  exchange(communicator, messages, purpose);
}

//! What every rank gets from every other: n values of rank r at n * r.
//!
//! **Shapes.** mine: n values on each rank. Returns N * n.
template <Communicator C, class T>
[[nodiscard]] std::vector<T> all_gather(C& communicator, std::span<const T> mine,
                                        const Purpose& purpose = {"all_gather"}) {
  const auto n = static_cast<index_t>(mine.size());
  std::vector<T> all(mine.size() * static_cast<std::size_t>(communicator.size()));
  std::ranges::copy(mine, all.begin() + communicator.rank() * n);
  std::vector<Range> pieces;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    pieces.push_back({rank * n, (rank + 1) * n});
  }
  typename C::Transfer transfer;
  std::vector<Message> messages;
  start_all_gather(communicator, all.data(), pieces, purpose, transfer, messages);
  transfer.wait();
  return all;
}

//! Row r of `rows` goes to rank r; returns what the ranks sent here, row r from rank r.
//!
//! **Shapes.** rows: (N, n) on each rank. Returns (N, n).
//! **Errors.** ShapeError, before anything is sent, if N does not divide the number of values.
//! **Cost.** A rank sends (N - 1) n values.
template <Communicator C, class T>
[[nodiscard]] std::vector<T> all_to_all(C& communicator, std::span<const T> rows,
                                        const Purpose& purpose = {"all_to_all"}) {
  const int rank = communicator.rank();
  if (rows.size() % static_cast<std::size_t>(communicator.size()) != 0) {
    throw ShapeError(text(to_text(purpose), ": ", rows.size(), " values are no rows for each of ",
                          communicator.size(), " ranks"));
  }
  const index_t n = static_cast<index_t>(rows.size()) / communicator.size();
  std::vector<T> received(rows.size());
  std::vector<Message> messages;
  for (int peer = 0; peer < communicator.size(); ++peer) {
    if (peer == rank) {
      std::copy_n(rows.data() + rank * n, n, received.data() + rank * n);
    } else {
      messages.push_back(receive_from(peer, received.data() + peer * n, n));
      messages.push_back(send_to(peer, rows.data() + peer * n, n));
    }
  }
  exchange(communicator, messages, purpose);
  return received;
}

//! Returns when all ranks have called it.
template <Communicator C>
void barrier(C& communicator, const Purpose& purpose = {"barrier"}) {
  const char nothing = 0;
  static_cast<void>(all_gather(communicator, std::span(&nothing, 1), purpose));
}

//! Adds vectors in the order of the balanced tree: v[l] += v[l + s] for s = 1, 2, 4, ...
//!
//! **Shapes.** rows: (N, n), overwritten. The sum is row 0.
template <class T>
void add_rows(std::span<T> rows, index_t count) {
  const index_t n = count == 0 ? 0 : static_cast<index_t>(rows.size()) / count;
  const auto there = [](index_t) { return true; };
  for_tree_pairs(count, there, [&](index_t left, index_t right) {
    T* const to = rows.data() + left * n;
    const T* const from = rows.data() + right * n;
    for (index_t i = 0; i < n; ++i) to[i] += from[i];
  });
}

//! values = the sum over all ranks, of the same bits on each: for a few values.
//!
//! Every rank gathers all and adds them in the order of the ranks' tree.
//! **Cost.** A rank sends (N - 1) n values.
template <Communicator C, class T>
void all_reduce(C& communicator, std::span<T> values, const Purpose& purpose = {"all_reduce"}) {
  auto rows = all_gather(communicator, std::span<const T>(values), purpose);
  add_rows(std::span(rows), communicator.size());
  std::copy_n(rows.begin(), values.size(), values.begin());
}

//! Rank r gets the sum over all ranks of row r.
//!
//! **Shapes.** rows: (N, n) on each rank. Returns n values.
//! **Errors.** As `all_to_all`'s.
//! **Cost.** A rank sends (N - 1) n values.
template <Communicator C, class T>
[[nodiscard]] std::vector<T> reduce_scatter(C& communicator, std::span<const T> rows,
                                            const Purpose& purpose = {"reduce_scatter"}) {
  auto received = all_to_all(communicator, rows, purpose);
  add_rows(std::span(received), communicator.size());
  received.resize(rows.size() / static_cast<std::size_t>(communicator.size()));
  return received;
}

//! values of every rank = those of `root`, which sends each rank a share that all then gather.
//!
//! **Errors.** ArgumentError unless `root` is a rank.
//! **Cost.** The root sends 2 (N - 1) / N of the values, others (N - 1) / N.
template <Communicator C, class T>
void broadcast(C& communicator, std::span<T> values, int root,
               const Purpose& purpose = {"broadcast"}) {
  const int ranks = communicator.size();
  if (root < 0 || root >= ranks) {
    throw ArgumentError(text(to_text(purpose), ": rank ", root, " of ", ranks));
  }
  std::vector<Range> pieces;
  for (int rank = 0; rank < ranks; ++rank) {
    pieces.push_back(share(static_cast<index_t>(values.size()), ranks, rank));
  }
  const Range mine = pieces[static_cast<std::size_t>(communicator.rank())];
  std::vector<Message> messages;
  if (communicator.rank() != root) {
    messages.push_back(receive_from(root, values.data() + mine.begin, mine.size()));
  } else {
    for (int peer = 0; peer < ranks; ++peer) {
      const Range piece = pieces[static_cast<std::size_t>(peer)];
      if (peer != root) {
        messages.push_back(send_to(peer, values.data() + piece.begin, piece.size()));
      }
    }
  }
  exchange(communicator, messages, purpose);
  typename C::Transfer transfer;
  start_all_gather(communicator, values.data(), pieces, purpose, transfer, messages);
  transfer.wait();
}

//! What `root` says, which others do not know the length of.
template <Communicator C>
[[nodiscard]] std::string broadcast_text(C& communicator, std::string said, int root,
                                         const Purpose& purpose = {"broadcast", "text"}) {
  auto size = static_cast<index_t>(said.size());
  broadcast(communicator, std::span(&size, 1), root, purpose);
  said.resize(static_cast<std::size_t>(size));
  broadcast(communicator, std::span(said), root, purpose);
  return said;
}

//! The ranks that share a color, in the order of (key, rank), and the caller's place among them.
template <Communicator C>
[[nodiscard]] std::pair<std::vector<int>, int> split_members(C& communicator, int color, int key) {
  const int mine[] = {color, key};
  const auto all = all_gather(communicator, std::span<const int>(mine), {"split"});
  const auto key_of = [&](int rank) { return all[static_cast<std::size_t>(2 * rank + 1)]; };
  std::vector<int> members;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (all[static_cast<std::size_t>(2 * rank)] == color) members.push_back(rank);
  }
  std::ranges::stable_sort(members, {}, key_of);
  const auto at = std::ranges::find(members, communicator.rank());
  return {members, static_cast<int>(at - members.begin())};
}

}  // namespace weft::comm
