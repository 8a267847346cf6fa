// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How long a GPU takes, and what it is given to do.
#pragma once

#include <weft/cuda.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <weft/core/clock.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/philox.hpp>
#include <weft/ops/blocks.hpp>

namespace benchmark {

using namespace weft;

inline constexpr int repeats = 10;
// Until clocks are those of a GPU at work. A graph is made when the same operations come a second
// time; where their memory lies elsewhere every other time, two are made.
inline constexpr int least_warm_up = 5;
inline constexpr double warm_up_s = 0.3;

struct Quartiles {
  double lower, median, upper;
};

//! Seconds that the device takes for each of some calls in turn, over ten rounds.
inline std::vector<Quartiles> seconds(Cuda& device,
                                      const std::vector<std::function<void()>>& calls) {
  const auto seconds_of = [&](const std::function<void()>& call) {
    device.synchronize();
    const double begin = monotonic_seconds();
    call();
    device.synchronize();
    return monotonic_seconds() - begin;
  };
  const double begin = monotonic_seconds();
  for (int i = 0; i < least_warm_up || monotonic_seconds() - begin < warm_up_s; ++i) {
    for (const auto& call : calls) seconds_of(call);
  }
  std::vector<std::vector<double>> times(calls.size());
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < calls.size(); ++i) times[i].push_back(seconds_of(calls[i]));
  }
  std::vector<Quartiles> result;
  for (auto& of_call : times) {
    std::sort(of_call.begin(), of_call.end());
    result.push_back({of_call[repeats / 4], (of_call[repeats / 2 - 1] + of_call[repeats / 2]) / 2,
                      of_call[repeats - 1 - repeats / 4]});
  }
  return result;
}

//! Seconds that the device takes for a call, over ten of them.
inline Quartiles seconds(Cuda& device, const std::function<void()>& call) {
  return seconds(device, std::vector{call}).front();
}

//! Prints `amount` over the time of a call: a rate, in units of `metric`.
inline void report(const std::string& suite, const std::string& subject, const char* metric,
                   double amount, Quartiles time) {
  std::printf(
      "{\"suite\": \"%s\", \"subject\": \"%s\", \"metric\": \"%s\", \"median\": %.6g, "
      "\"lower_quartile\": %.6g, \"upper_quartile\": %.6g, \"time_ms\": %.6g, "
      "\"repeats\": %d}\n",
      suite.c_str(), subject.c_str(), metric, amount / time.median, amount / time.upper,
      amount / time.lower, 1e3 * time.median, repeats);
  std::fflush(stdout);
}

//! Writes random numbers from `least` to 1.
struct RandomBlock {
  float* x;
  float least;
  RandomKey key;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t first, index_t count, index_t) const {
    lanes.for_each(count, [&](index_t c) {
      const auto i = static_cast<std::uint64_t>(first + c);
      const PhiloxBlock counter{
          {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0}};
      const float zero_to_one = static_cast<float>(philox(counter, key)[0] >> 8) * 0x1p-24f;
      x[first + c] = least + (1 - least) * zero_to_one;
    });
  }
};

//! An array of random numbers, of both signs unless `least` says otherwise: of zeros tensor cores
//! and memory take less power, so that clocks are higher.
inline Tensor<float, Cuda> numbers(Cuda& device, Shape shape, float least = -1) {
  static std::uint64_t arrays = 0;
  Tensor<float, Cuda> tensor(device, shape);
  const index_t n = shape.size();
  ops::for_blocks(device, n, 0, ops::block_count(n),
                  RandomBlock{tensor.data(), least, RandomKey(/*seed=*/1, ++arrays)});
  return tensor;
}

}  // namespace benchmark
