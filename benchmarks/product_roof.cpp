// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Prints the best rate of matrix products over the shapes of a Transformer, in GFLOP/s: the roof
// that a step is measured against.
//
//     product_roof THREADS

#include <weft/core/clock.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/tensor/tensor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace weft;

int main(int argc, char** argv) {
  Cpu device(argc > 1 ? std::atoi(argv[1]) : 1);
  struct Sizes {
    index_t M, N, K;
  };
  double best = 0.0;
  for (const auto [M, N, K] : {Sizes{1024, 2048, 512}, Sizes{1024, 512, 2048},
                               Sizes{1024, 512, 512}, Sizes{4096, 9712, 128}}) {
    const Tensor<float> a(device, {M, K}), b(device, {K, N}), c(device, {M, N});
    std::fill_n(a.data(), a.size(), 0.5f);
    std::fill_n(b.data(), b.size(), 0.25f);
    for (int repeat = 0; repeat < 12; ++repeat) {
      const double begin = monotonic_seconds();
      ops::matmul_nn(device, a, b, c);
      const double time_s = monotonic_seconds() - begin;
      best = std::max(best, 2e-9 * static_cast<double>(M * N * K) / time_s);
    }
  }
  std::printf("%.1f\n", best);
}
