// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Random orders that are the same on every platform.
#pragma once

#include <weft/core/index.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>

namespace weft::data {

//! The n-th number is a hash of key + n: splitmix64, good for orders and choices, not for secrets.
//!
//! The standard library's distributions and `std::shuffle` give other numbers with every library;
//! these are part of what a resumed run must find again.
//!
//! **Source.** Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
class SplitMix64 {
 public:
  //! Numbers of a key.
  explicit constexpr SplitMix64(std::uint64_t key) noexcept : state_(key) {}

  //! A generator of its own for each sequence of keys: a seed, an epoch, ...
  static constexpr SplitMix64 keyed(std::initializer_list<std::uint64_t> keys) noexcept {
    SplitMix64 random(0);
    for (const auto key : keys) random.state_ = random() ^ key;
    return random;
  }

  //! The next 64 random bits.
  constexpr std::uint64_t operator()() noexcept {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  //! One of 0, ..., bound - 1, each equally often; bound > 0.
  constexpr index_t below(index_t bound) noexcept {
    const auto count = static_cast<std::uint64_t>(bound);
    const std::uint64_t uneven = -count % count;  // 2^64 mod count: as many would come too often
    std::uint64_t number = (*this)();
    while (number < uneven) number = (*this)();
    return static_cast<index_t>(number % count);
  }

 private:
  std::uint64_t state_;
};

//! Puts `values` into a random order, each order equally often (Fisher and Yates).
template <class Value>
constexpr void shuffle(std::span<Value> values, SplitMix64& random) {
  for (index_t left = std::ssize(values); left > 1; --left) {
    const auto chosen = static_cast<std::size_t>(random.below(left));
    std::swap(values[static_cast<std::size_t>(left - 1)], values[chosen]);
  }
}

}  // namespace weft::data
