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

//! What a tensor core adds up at once, for columns of terms. It shifts the terms to the exponent of
//! the largest, with a bit behind a float's, and cuts off what comes later, of the terms and of
//! their sum. (Columns, as a compiler then takes several at a time: one by one they were a third of
//! attention's time.)
//!
//! **Source.** Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of NVIDIA tensor cores",
//! PeerJ Computer Science 7:e330.
template <std::size_t N, std::size_t C>
std::array<float, C> truncated_sums(const double (&terms)[N][C]) {
  double largest[C] = {}, sums[C] = {};
  for (const auto& row : terms) {
    for (std::size_t c = 0; c < C; ++c) largest[c] = std::max(largest[c], std::abs(row[c]));
  }
  double unit[C], per_unit[C];
  for (std::size_t c = 0; c < C; ++c) {
    // A number's exponent alone is a power of two. Zeros and infinities have the same sum by any
    // unit.
    constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000u;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(largest[c]) & exponent;
    const double power = bits == 0 || bits == exponent ? 1.0 : std::bit_cast<double>(bits);
    unit[c] = power * 0x1p-24;
    per_unit[c] = 0x1p24 / power;
  }
  for (const auto& row : terms) {
    for (std::size_t c = 0; c < C; ++c) sums[c] += std::trunc(row[c] * per_unit[c]) * unit[c];
  }
  std::array<float, C> rounded;
  for (std::size_t c = 0; c < C; ++c) {
    const auto nearest = static_cast<float>(sums[c]);
    const bool is_behind = std::abs(static_cast<double>(nearest)) > std::abs(sums[c]);
    rounded[c] =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - (is_behind ? 1u : 0u));
  }
  return rounded;
}

}  // namespace emulator
