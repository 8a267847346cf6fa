// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that `mpirun` or `srun` started, or threads of this process.
#pragma once

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/launch_ranks.hpp>

namespace examples {

//! What the launcher told this process, read once.
inline const weft::comm::Environment& environment() {
  static const auto read = weft::comm::read_environment();
  return read;
}

//! Which of this machine's devices a rank has: one each for the ranks that are here.
inline int device_of(const weft::comm::AnyCommunicator& communicator) {
  const bool is_thread = environment().launcher == weft::comm::Launcher::none;
  return is_thread ? communicator.rank() : environment().local_rank;
}

//! Calls `program(communicator)` on every rank, and returns what it does on the first.
template <class Program>
int launch(int ranks, double timeout_s, const Program& program) {
  int result = 0;
  weft::comm::launch_ranks(environment(), ranks, weft::comm::Timeout(timeout_s),
                           [&](weft::comm::AnyCommunicator& communicator) {
                             const int ended = program(communicator);
                             if (communicator.rank() == 0) result = ended;
                           });
  return result;
}

}  // namespace examples
