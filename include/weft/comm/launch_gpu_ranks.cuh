// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Runs a program on ranks with GPUs. Needs <nccl.h> and its library.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <set>
#include <span>
#include <string_view>

#include <cuda_runtime_api.h>

#include <weft/comm/any_communicator.hpp>
#include <weft/comm/collectives.hpp>
#include <weft/comm/environment.hpp>
#include <weft/comm/launch_ranks.hpp>
#include <weft/comm/nccl.cuh>
#include <weft/comm/nccl_connection.cuh>
#include <weft/core/error.hpp>
#include <weft/device/cuda.cuh>
#include <weft/device/cuda_error.cuh>

namespace weft::comm {

//! What NCCL's kernels need to wait for other ranks beside each other. Variables that are set stay
//! as they are. The driver reads them when the process first asks for a GPU.
//!
//! **Errors.** ArgumentError if one is not set and there has been a `Cuda` already. (That the
//! process has asked in another way is not found.)
inline void set_nccl_environment() {
  for (const auto& [name, value] : detail::nccl_environment) {
    if (std::getenv(name) == nullptr && Cuda::was_made()) {
      throw ArgumentError(text("NCCL: ", name, "=", value, " has to be set before the process ",
                               "makes a Cuda, which it has: launch its ranks first, or set it ",
                               "outside"));
    }
    setenv(name, value, /*overwrite=*/0);
  }
}

//! Whether no two ranks are on one GPU; `index` is that of the rank's device. Ranks of different
//! machines never are. (Parts of one GPU, MIG, count as GPUs; NCCL may refuse them.) All ranks ask
//! together.
//!
//! **Errors.** As `Cuda::gpus`.
template <Communicator C>
[[nodiscard]] bool have_own_gpus(C& communicator, int index) {
  cudaDeviceProp gpu{};
  weft::detail::expect_success(cudaGetDeviceProperties(&gpu, index % Cuda::gpus()),
                               "asking for a GPU's name");
  constexpr std::size_t bytes = sizeof(gpu.uuid.bytes);
  const auto all = all_gather(communicator, std::span<const char>(gpu.uuid.bytes), {"naming GPUs"});
  std::set<std::string_view> different;
  for (std::size_t i = 0; i < all.size(); i += bytes) different.emplace(&all[i], bytes);
  return std::ssize(different) == communicator.size();
}

//! As `launch_ranks`, for a program whose ranks have `Cuda` devices, each with `local_index`: their
//! memory goes over NCCL where every rank has a GPU of its own, and by way of the host elsewhere.
//!
//!     comm::launch_gpu_ranks(environment, ranks, timeout, [&](comm::AnyCommunicator& ranks) {
//!       Cuda gpu(1, comm::local_index(environment, ranks));
//!       DistributedDataParallel<Model, Loss, Zero<1>, optim::Adam, Cuda, comm::AnyCommunicator>
//!           train(gpu, ranks, ...);
//!     });
//!
//! **Errors.** Those of `launch_ranks`, and, before the program is called, those of
//! `have_own_gpus` and, for several ranks, of `set_nccl_environment`.
template <class Program>
void launch_gpu_ranks(const Environment& environment, int ranks, Timeout timeout,
                      const Program& program) {
  if (ranks > 1) set_nccl_environment();
  launch_ranks(environment, ranks, timeout, [&](AnyCommunicator& hosts) {
    const bool by_nccl = have_own_gpus(hosts, local_index(environment, hosts));
    AnyCommunicator communicator = by_nccl ? AnyCommunicator(NcclCommunicator(hosts)) : hosts;
    program(communicator);
  });
}

}  // namespace weft::comm
