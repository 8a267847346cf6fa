// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What include/weft/device/ptx.cuh has, by its words and not by the instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

namespace weft::ptx {

inline std::uint32_t* launched_memory() {
  return reinterpret_cast<std::uint32_t*>(simulator::launched_memory.data());
}

template <class Rounded>
std::uint32_t rounded_pair(float first, float second) {
  return Rounded(first).bits | static_cast<std::uint32_t>(Rounded(second).bits) << 16;
}

//! The bits that tf32 does not have are zero.
inline std::uint32_t tf32(float x) {
  if (!std::isfinite(x)) return __float_as_uint(x);
  // The sign is apart, so that half of the last bit that stays is added to the magnitude.
  return (__float_as_uint(x) + 0x1000u) & ~0x1fffu;
}

inline float exp2(float x) {
  const float power = std::exp2(x);
  return power < 0x1p-126f ? 0.0f : power;
}

namespace simulated {

struct Factors {
  std::uint32_t a[4], b[2];
};

//! A float of which a tensor core reads 10 bits of fraction.
struct Tf32 {
  std::uint32_t bits;

  explicit operator float() const { return __uint_as_float(bits & ~0x1fffu); }
};

//! One number of a word.
template <class Number>
double number(std::uint32_t word, unsigned which) {
  Number read;
  std::memcpy(&read, reinterpret_cast<const char*>(&word) + which * sizeof read, sizeof read);
  return static_cast<double>(static_cast<float>(read));
}

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

//! d += a b of factors of such numbers, half of the columns of a after the other, as GPUs of sm_80
//! to sm_89 do. Those of sm_90 add all at once, with another bit.
//!
//! **Source.** MMA-Sim, arXiv:2511.10909.
template <class Number>
void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  auto& threads = simulator::Threads::here();
  const unsigned g = threads.lane() / 4, t = threads.lane() % 4;
  threads.exchange(~0u, Factors{{a[0], a[1], a[2], a[3]}, {b0, b1}}, [&](auto of_lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned lower = i / 2, column = 2 * t + i % 2;
      constexpr unsigned numbers = sizeof(std::uint32_t) / sizeof(Number);  // in a word
      // A row of a is in four lanes, a column of b too: a word of each for either half.
      for (unsigned half = 0; half < 2; ++half) {
        std::array<double, 1 + 4 * numbers> terms{static_cast<double>(d[i])};
        std::size_t next = 1;
        for (unsigned lane = 0; lane < 4; ++lane) {
          const std::uint32_t left = of_lane(g * 4 + lane).a[half * 2 + lower];
          const std::uint32_t right = of_lane(column * 4 + lane).b[half];
          for (unsigned which = 0; which < numbers; ++which) {
            terms[next++] = number<Number>(left, which) * number<Number>(right, which);
          }
        }
        d[i] = truncated_sum(terms);
      }
    }
    return 0;
  });
}

}  // namespace simulated

template <class Rounded>
void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  simulated::multiply<Rounded>(d, a, b0, b1);
}

inline void multiply_tf32(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                          std::uint32_t b1) {
  simulated::multiply<simulated::Tf32>(d, a, b0, b1);
}

namespace simulated {

inline void expect_aligned(const std::uint32_t* row) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    simulator::refuse("a row of ldmatrix lies askew");
}

}  // namespace simulated

inline void load_matrices(std::uint32_t (&words)[4], const std::uint32_t* row) {
  simulated::expect_aligned(row);
  auto& threads = simulator::Threads::here();
  const unsigned g = threads.lane() / 4, t = threads.lane() % 4;
  threads.exchange(~0u, row, [&](auto of_lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) words[matrix] = of_lane(8 * matrix + g)[t];
    return 0;
  });
}

inline void load_transposed(std::uint32_t (&words)[4], const std::uint32_t* row) {
  simulated::expect_aligned(row);
  auto& threads = simulator::Threads::here();
  const unsigned g = threads.lane() / 4, t = threads.lane() % 4;
  threads.exchange(~0u, row, [&](auto of_lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t pair[2];
      for (unsigned i = 0; i < 2; ++i) {
        const std::uint32_t* const of_row = of_lane(8 * matrix + 2 * t + i);
        std::memcpy(&pair[i], reinterpret_cast<const char*>(of_row) + 2 * g, sizeof pair[i]);
      }
      words[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
    }
    return 0;
  });
}

}  // namespace weft::ptx
