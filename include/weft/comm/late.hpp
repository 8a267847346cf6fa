// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which rank is late, and what is said of it, or of one that does something else.
#pragma once

#include <cstddef>
#include <string>

#include <weft/comm/communicator.hpp>
#include <weft/comm/purpose.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>

namespace weft::comm {

//! The peer of the first of n messages that has not `ended(i)`; `none` if all have. Receives come
//! first: a rank that is late is missed by those who receive from it.
template <class MessageAt, class Ended>
[[nodiscard]] int first_missing_peer(std::size_t n, const MessageAt& message, const Ended& ended,
                                     int none) {
  int sending_to = none;
  for (std::size_t i = 0; i < n; ++i) {
    if (ended(i)) continue;
    if (message(i).direction == Message::Direction::receive) return message(i).peer;
    sending_to = message(i).peer;
  }
  return sending_to;
}

//! "rank 2 has not entered all_reduce of bucket 4 within 600 s; last seen in barrier".
[[nodiscard]] inline std::string late_text(int rank, const Purpose& purpose, Timeout timeout,
                                           const std::string& last_seen) {
  return text("rank ", rank, " has not entered ", to_text(purpose), " within ", timeout.count(),
              " s; last seen in ", last_seen);
}
//! The same where this rank has seen it.
[[nodiscard]] inline std::string late_text(int rank, const Purpose& purpose, Timeout timeout,
                                           const Purpose& last_seen) {
  return late_text(rank, purpose, timeout, to_text(last_seen));
}

//! The same of one that will not come: "rank 2 has not entered barrier, and has ended; last seen in
//! barrier".
[[nodiscard]] inline std::string ended_text(int rank, const Purpose& purpose,
                                            const Purpose& last_seen) {
  return text("rank ", rank, " has not entered ", to_text(purpose),
              ", and has ended; last seen in ", to_text(last_seen));
}

//! "the ranks' programs differ: rank 2 sends 8 bytes, for another purpose or not, where 4 bytes are
//! expected in barrier".
[[nodiscard]] inline std::string differing_text(int rank, const std::string& sent, index_t expected,
                                                const Purpose& purpose) {
  return text("the ranks' programs differ: rank ", rank, " sends ", sent,
              " bytes, for another purpose or not, where ", expected, " bytes are expected in ",
              to_text(purpose));
}

}  // namespace weft::comm
