// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
// A product on a GPU, through cuBLASLt; where it was found, NCCL's version.
#include <weft/cuda.cuh>

#include <cstdio>
#include <vector>

#ifdef WITH_NCCL
#include <weft/comm/nccl.cuh>
#endif

int main() {
#ifdef WITH_NCCL
  int nccl = 0;
  ncclGetVersion(&nccl);
  if (nccl < NCCL_VERSION(2, 10, 0)) return 1;
#endif
  weft::Cuda gpu;
  const std::vector<float> ones(4, 1.0f);
  const auto x = weft::to_device<float>(gpu, ones, {2, 2});
  const weft::Tensor<float, weft::Cuda> y(gpu, {2, 2});
  weft::ops::matmul_nt(gpu, x, x, y);
  const auto on_host = weft::to_host(y);
  std::printf("%g %g %g %g\n", on_host[0], on_host[1], on_host[2], on_host[3]);
}
