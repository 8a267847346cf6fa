// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the tests where there is a GPU, and asks to be skipped where there is none.
#define CATCH_CONFIG_RUNNER
#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  // Before the first call of CUDA's, as ranks over NCCL need it.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  // Before the first of NCCL's, which reads them once: ranks may share a GPU, where the kernels of
  // several connections wait side by side.
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", /*overwrite=*/0);
  setenv("NCCL_MAX_CTAS", "4", /*overwrite=*/0);
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || gpus == 0) {
    std::printf("nothing was run: %s\n", cudaGetErrorString(status));
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
