// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranks that `mpirun`, `srun` or `torchrun` started, or threads of this process.
#pragma once

#include "device.hpp"

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/launch_ranks.hpp>
#if WEFT_NCCL
#include <weft/comm/launch_gpu_ranks.cuh>
#endif

#include <cstdio>

namespace examples {

//! What the launcher told this process, read once.
inline const weft::comm::Environment& environment() {
  static const auto read = weft::comm::read_environment();
  return read;
}

//! Which of this machine's devices a rank has.
inline int local_index(const weft::comm::AnyCommunicator& communicator) {
  return weft::comm::local_index(environment(), communicator);
}

#if WEFT_NCCL
inline constexpr auto by_way_of_the_host = "by way of the host: ranks share a GPU";
#else
inline constexpr auto by_way_of_the_host = "by way of the host: compiled without NCCL";
#endif

//! Calls `program(communicator)` on every rank, and returns what it does on this process's, of
//! threads the first.
template <class Program>
int launch(int ranks, double timeout_s, const Program& program) {
  int result = 0;
  const auto on_rank = [&](weft::comm::AnyCommunicator& communicator) {
    if (!Device::on_host && communicator.rank() == 0 && communicator.size() > 1) {
      std::fprintf(stderr, "what lies on GPUs goes %s\n",
                   communicator.reaches<Device>() ? "over NCCL" : by_way_of_the_host);
    }
    const int ended = program(communicator);
    const bool is_process = environment().launcher != weft::comm::Launcher::none;
    if (is_process || communicator.rank() == 0) result = ended;
  };
  const weft::comm::Timeout timeout(timeout_s);
#if WEFT_NCCL
  weft::comm::launch_gpu_ranks(environment(), ranks, timeout, on_rank);
#else
  weft::comm::launch_ranks(environment(), ranks, timeout, on_rank);
#endif
  return result;
}

}  // namespace examples
