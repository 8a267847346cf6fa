// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Random numbers that are keyed, not drawn: Philox4x32.
//!
//! A number is a function of (seed, step, operation, sentence, position, channel). Nothing is
//! stored between draws: whichever device, shard or micro-batch computes an element finds the same
//! number, and a recomputed forward pass repeats its dropout.
//!
//! **Source.** Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
#pragma once

#include <cstdint>

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>

namespace weft {

//! The part of a random key that is the same for a whole update.
struct RandomKey {
  std::uint32_t low = 0;   //!< the key's first word
  std::uint32_t high = 0;  //!< the key's second word

  RandomKey() = default;

  //! Every (seed, step) gives another key: both pass through the finaliser of SplitMix64.
  WEFT_HOST_DEVICE constexpr RandomKey(std::uint64_t seed, std::uint64_t step) {
    const std::uint64_t key = mix(mix(seed) + step);
    low = static_cast<std::uint32_t>(key);
    high = static_cast<std::uint32_t>(key >> 32);
  }

  friend constexpr bool operator==(const RandomKey&, const RandomKey&) = default;

 private:
  WEFT_HOST_DEVICE static constexpr std::uint64_t mix(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

namespace detail {

inline constexpr std::uint32_t philox_m0 = 0xd2511f53u;
inline constexpr std::uint32_t philox_m1 = 0xcd9e8d57u;
inline constexpr std::uint32_t philox_w0 = 0x9e3779b9u;
inline constexpr std::uint32_t philox_w1 = 0xbb67ae85u;

}  // namespace detail

//! A counter, and the four random words that are its image. (Of std::array a GPU may call nothing.)
struct PhiloxBlock {
  std::uint32_t word[4];  //!< of the counter, or of its image

  //! Word i of four.
  WEFT_HOST_DEVICE constexpr std::uint32_t operator[](index_t i) const { return word[i]; }
  friend bool operator==(const PhiloxBlock&, const PhiloxBlock&) = default;
};

//! Four random words for one counter, after 10 rounds, as is usual, or fewer.
template <int Rounds = 10>
WEFT_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxBlock counter, RandomKey key) {
  auto [c0, c1, c2, c3] = counter.word;
  for (int round = 0; round < Rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{detail::philox_m0} * c0;
    const std::uint64_t p1 = std::uint64_t{detail::philox_m1} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key.low;
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key.high;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    key.low += detail::philox_w0;
    key.high += detail::philox_w1;
  }
  return {{c0, c1, c2, c3}};
}

//! Four words for each of sixteen counters that differ in their first part.
struct PhiloxWords {
  simd::Words word[4];  //!< word i of each of the sixteen images
};

//! The same for sixteen counters (c0[i], c1, c2, c3).
template <int Rounds = 10>
WEFT_INLINE PhiloxWords philox(simd::Words c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3,
                               RandomKey key) {
  const simd::Words zero{};
  simd::Words x0 = c0, x1 = zero + c1, x2 = zero + c2, x3 = zero + c3;
  for (int round = 0; round < Rounds; ++round) {
    const auto p0 = simd::multiply_wide(x0, detail::philox_m0);
    const auto p1 = simd::multiply_wide(x2, detail::philox_m1);
    x0 = p1.high ^ x1 ^ key.low;
    x2 = p0.high ^ x3 ^ key.high;
    x1 = p1.low;
    x3 = p0.low;
    key.low += detail::philox_w0;
    key.high += detail::philox_w1;
  }
  return {{x0, x1, x2, x3}};
}

}  // namespace weft
