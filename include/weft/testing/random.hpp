// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Inputs and outputs for tests: numbers that are the same everywhere, and NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/core/shape.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::testing {

//! n numbers, uniform in [low, high), the same for a seed on every machine.
//!
//! From std::mt19937, whose output the standard fixes (that of its distributions it does not), and
//! not from Philox: what a test draws shares nothing with what it tests.
[[nodiscard]] inline std::vector<float> random_values(index_t n, std::uint32_t seed,
                                                      float low = -1.0f, float high = 1.0f) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) {
    const float unit = static_cast<float>(engine() >> 8) * 0x1p-24f;
    value = low + (high - low) * unit;
  }
  return values;
}

//! A tensor of `random_values`.
template <class D>
[[nodiscard]] Tensor<float, D> random_tensor(D& device, Shape shape, std::uint32_t seed,
                                             float low = -1.0f, float high = 1.0f) {
  const std::vector<float> values = random_values(shape.size(), seed, low, high);
  return to_device<float>(device, std::span<const float>(values), shape);
}

//! A tensor of NaN, for an output: an element that an operation left out, or read, stays one.
template <class D>
[[nodiscard]] Tensor<float, D> nan_tensor(D& device, Shape shape) {
  const std::vector<float> values(static_cast<std::size_t>(shape.size()),
                                  std::numeric_limits<float>::quiet_NaN());
  return to_device<float>(device, std::span<const float>(values), shape);
}

}  // namespace weft::testing
