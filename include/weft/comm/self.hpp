// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A communicator of one rank.
#pragma once

#include <span>
#include <string>

#include <weft/comm/communicator.hpp>

namespace weft::comm {

//! The only rank: strategies over ranks become what they are on one device.
class SelfCommunicator {
 public:
  //! There is nobody to wait for.
  struct Transfer {
    [[nodiscard]] static bool done() { return true; }
    //! Returns at once.
    static void wait() {}
  };

  [[nodiscard]] static int rank() { return 0; }
  //! One.
  [[nodiscard]] static int size() { return 1; }
  //! Never needed.
  [[nodiscard]] static Timeout timeout() { return default_timeout; }

  //! **Errors.** ArgumentError for a message: there is no other rank.
  static void post(std::span<const Message> messages, const Purpose& purpose, Transfer&) {
    if (!messages.empty()) {
      throw ArgumentError(text(to_text(purpose), ": a message to rank ", messages[0].peer,
                               " where rank 0 is the only one"));
    }
  }

  //! Nobody else has to be told.
  static void abort(int, const std::string&) {}
  [[nodiscard]] static SelfCommunicator split(int, int) { return {}; }
};

static_assert(Communicator<SelfCommunicator>);

}  // namespace weft::comm
