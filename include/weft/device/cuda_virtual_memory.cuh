// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The driver's calls for virtual memory: addresses, and a GPU's memory behind them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace weft::detail {

//! The calls, looked up when the program runs: weft is not linked with the driver.
//!
//! **Source.** CUDA Driver API, "Virtual Memory Management".
struct VirtualMemory {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;

  //! Null if the driver has them not.
  static const VirtualMemory* of_driver() {
    static const VirtualMemory calls;
    return calls.set_access == nullptr ? nullptr : &calls;
  }

 private:
  VirtualMemory() {
    static_cast<void>(find("cuMemGetAllocationGranularity", granularity) &&
                      find("cuMemAddressReserve", reserve) && find("cuMemAddressFree", free) &&
                      find("cuMemCreate", create) && find("cuMemRelease", release) &&
                      find("cuMemMap", map) && find("cuMemUnmap", unmap) &&
                      find("cuMemSetAccess", set_access));
  }

  template <class Call>
  static bool find(const char* name, Call& call) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    constexpr unsigned since = 12000;  // the calls as CUDA 12 has them
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &result);
#else
    const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess) {
      cudaGetLastError();  // an error that is answered is over
      return false;
    }
    call = reinterpret_cast<Call>(found);
    return true;
  }
};

}  // namespace weft::detail
