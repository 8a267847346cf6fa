// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// What the machine can do at most, as a JSON object: the rates of ops::matmul_nn (oneDNN's product
// with AVX-512, weft's own with AVX2) at given sizes in floating-point operations a second, and in bytes a second the rates of reading 256 MB
// and of copying them, which reads and writes.
//
//     roofs THREADS [MxNxK ...]

#include "serve.hpp"

#include <weft/ops/matmul.hpp>
#include <weft/tensor/tensor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace weft;

namespace {

//! The best of some repetitions that take half a second together, or of three.
template <class F>
double best_seconds(const F& f) {
  double best = 1e300, total = 0.0;
  f();  // warms up
  for (int repeat = 0; repeat < 3 || total < 0.5; ++repeat) {
    const double time_s = benchmark::milliseconds(f) / 1e3;
    best = std::min(best, time_s);
    total += time_s;
  }
  return best;
}

double product_rate(Cpu& device, index_t M, index_t N, index_t K) {
  const Tensor<float> a(device, {M, K}), b(device, {K, N}), c(device, {M, N});
  std::fill_n(a.data(), a.size(), 0.5f);
  std::fill_n(b.data(), b.size(), 0.25f);
  return 2.0 * static_cast<double>(M * N * K) /
         best_seconds([&] { ops::matmul_nn(device, a, b, c); });
}

double copy_rate(Cpu& device) {
  constexpr index_t parts = 64, part = 1 << 20;  // floats
  const Tensor<float> a(device, {parts * part}), b(device, {parts * part});
  std::fill_n(a.data(), a.size(), 0.5f);
  std::fill_n(b.data(), b.size(), 0.25f);
  const double time_s = best_seconds([&] {
    device.for_tasks(parts, [&](index_t i) {
      std::memcpy(b.data() + i * part, a.data() + i * part, part * sizeof(float));
    });
  });
  return 2.0 * sizeof(float) * static_cast<double>(parts * part) / time_s;
}

double read_rate(Cpu& device) {
  constexpr index_t rows = 1 << 13, C = 1 << 13;
  const Tensor<float> a(device, {rows, C}), sums(device, {rows});
  std::fill_n(a.data(), a.size(), 0.5f);
  const double time_s = best_seconds([&] {
    device.for_rows(rows, C, [&](auto lanes, index_t n) {
      sums.data()[n] = lanes.max(C, [&](auto c) { return simd::load(a.data() + n * C, c); });
    });
  });
  return sizeof(float) * static_cast<double>(a.size()) / time_s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: roofs THREADS [MxNxK ...]\n");
    return 2;
  }
  Cpu device(std::atoi(argv[1]));
  benchmark::Json answer{{"copy", copy_rate(device)},
                         {"read", read_rate(device)},
                         {"products", benchmark::Json::object()}};
  for (int i = 2; i < argc; ++i) {
    long long M = 0, N = 0, K = 0;
    if (std::sscanf(argv[i], "%lldx%lldx%lld", &M, &N, &K) != 3) {
      std::fprintf(stderr, "roofs: not sizes of a product, such as 1024x512x512: %s\n", argv[i]);
      return 2;
    }
    answer["products"][argv[i]] = product_rate(device, M, N, K);
  }
  std::printf("%s\n", answer.dump().c_str());
}
