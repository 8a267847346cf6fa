// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Runs a program on ranks, be they threads or processes that a launcher started.
#pragma once

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/sockets.hpp>
#include <weft/comm/threads.hpp>
#include <weft/core/error.hpp>
#if __has_include(<mpi.h>)
#include <weft/comm/mpi.hpp>
#endif

namespace weft::comm {

//! Which of this machine's devices a rank of `launch_ranks` has: one each for the ranks that are
//! here, be they processes or threads.
template <Communicator C>
[[nodiscard]] int local_index(const Environment& environment, const C& communicator) {
  return environment.launcher == Launcher::none ? communicator.rank() : environment.local_rank;
}

//! Calls `program(communicator)`, with an AnyCommunicator, for every rank that lives in this
//! process.
//!
//! Under `mpirun` or `srun` this process is one of their ranks, over MPI, if `mpi.h` was found when
//! the program was compiled (`mpicxx`). With `torchrun`'s variables (RANK, WORLD_SIZE, LOCAL_RANK,
//! MASTER_ADDR, MASTER_PORT) it is a rank over TCP. Otherwise the ranks are threads of this
//! process.
//! **Errors.** ArgumentError if a launcher started another number of ranks than `ranks`, or one
//! that the program was not compiled for, be it the `mpirun` of another MPI. With threads as
//! `launch_threads`; with processes as `launch_mpi` or `launch_sockets`.
template <class Program>
void launch_ranks(const Environment& environment, int ranks, Timeout timeout,
                  const Program& program) {
  const auto on_any = [&](auto& communicator) {
    AnyCommunicator any(communicator);
    program(any);
  };
  if (environment.launcher == Launcher::none) {
    launch_threads(ranks, timeout, on_any);
    return;
  }
  if (ranks != environment.size) {
    throw ArgumentError(text(ranks, " ranks were asked for, but ", to_text(environment.launcher),
                             " started ", environment.size));
  }
  if (environment.launcher == Launcher::torchrun) {
    launch_sockets(environment, timeout, on_any);
    return;
  }
#if __has_include(<mpi.h>)
  launch_mpi(timeout, [&](MpiCommunicator& communicator) {
    if (communicator.size() != environment.size) {
      throw ArgumentError(text(to_text(environment.launcher), " started ", environment.size,
                               " ranks, but MPI knows of ", communicator.size(),
                               ": the program was compiled for an MPI that is not this ",
                               to_text(environment.launcher), "'s"));
    }
    on_any(communicator);
  });
#else
  throw ArgumentError(text(to_text(environment.launcher), " started this process, but the program ",
                           "was compiled without MPI: mpi.h was not found"));
#endif
}

}  // namespace weft::comm
