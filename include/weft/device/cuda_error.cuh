// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What CUDA and its libraries refuse, as exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <weft/core/error.hpp>

namespace weft {

//! A GPU, its driver or one of its libraries failed.
class CudaError : public Error {
 public:
  explicit CudaError(const std::string& message, Place where = Place::here())
      : Error(message, where) {}
};

namespace detail {

//! Whether it is that of a kernel that faulted. Every call finds it, until the process ends.
[[nodiscard]] inline bool is_fault(cudaError_t status) {
  switch (status) {
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
      return true;
    default:
      return false;
  }
}

//! **Errors.** CudaError that says what was attempted, unless the call succeeded.
inline void expect_success(cudaError_t status, const char* attempted, Place where = Place::here()) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is told is over: CUB would find it once more
  throw CudaError(
      text(attempted, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")",
           is_fault(status) ? "; a kernel of this or an earlier operation faulted, after which a "
                              "process cannot use the GPU. CUDA_LAUNCH_BLOCKING=1 in the "
                              "environment, without graphs, shows which"
                            : ""),
      where);
}

//! For who is refused by a library, which finds a fault, too, and does not say so.
//!
//! **Errors.** CudaError if a kernel faulted.
inline void expect_no_fault(const char* attempted, Place where) {
  if (const cudaError_t status = cudaGetLastError(); is_fault(status)) {
    expect_success(status, attempted, where);
  }
}

}  // namespace detail

}  // namespace weft
