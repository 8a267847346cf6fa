// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How a tensor core adds, and what it reads of a float.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace emulator {

//! A float of which a tensor core reads 10 bits of fraction.
struct Tf32 {
  std::uint32_t bits;

  explicit operator float() const { return std::bit_cast<float>(bits & ~0x1fffu); }
};

//! What a tensor core adds up at once. It shifts the terms to the exponent of the largest, with a
//! bit behind a float's, and cuts off what comes later, of the terms and of their sum.
//!
//! **Source.** Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of NVIDIA tensor cores",
//! PeerJ Computer Science 7:e330.
template <std::size_t N>
float truncated_sum(const std::array<double, N>& terms) {
  double largest = 0.0, sum = 0.0;
  for (const double term : terms) largest = std::max(largest, std::abs(term));
  if (!(largest > 0.0 && std::isfinite(largest))) {
    for (const double term : terms) sum += term;
    return static_cast<float>(sum);
  }
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 24);
  for (const double term : terms) sum += std::trunc(term / unit) * unit;
  const float rounded = static_cast<float>(sum);
  return std::abs(static_cast<double>(rounded)) > std::abs(sum) ? std::nextafter(rounded, 0.0f)
                                                                : rounded;
}

}  // namespace emulator
