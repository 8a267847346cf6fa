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

//! **Errors.** CudaError that says what was attempted, unless the call succeeded.
inline void expect_success(cudaError_t status, const char* attempted, Place where = Place::here()) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is told is over: CUB would find it once more
  throw CudaError(
      text(attempted, ": ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ")"),
      where);
}

}  // namespace detail

}  // namespace weft
