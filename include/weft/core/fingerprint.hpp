// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A number that tells sequences of bytes apart.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <weft/core/version.hpp>

namespace weft {

//! The 64-bit FNV-1a hash of what was added: equal for different bytes by one chance in 2^64, if
//! nobody tries to make it so.
//!
//! **Source.** Fowler, Noll and Vo; offset basis and prime as in draft-eastlake-fnv.
class Fingerprint {
 public:
  //! The bytes of a text.
  constexpr Fingerprint& add(std::string_view bytes) {
    for (const char byte : bytes) add_bits(static_cast<unsigned char>(byte));
    return *this;
  }

  //! The eight bytes of a number, the lowest first.
  constexpr Fingerprint& add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_bits((number >> shift) & 0xFF);
    return *this;
  }

  //! Many numbers of 32 bits, in one step each where FNV-1a takes one for each byte: other hashes
  //! than those of their bytes, in an eighth of the time that eight bytes each take.
  constexpr Fingerprint& add(std::span<const std::int32_t> numbers) {
    for (const std::int32_t number : numbers) add_bits(static_cast<std::uint32_t>(number));
    return *this;
  }

  //! The same for floats, whose bits count.
  constexpr Fingerprint& add(std::span<const float> numbers) {
    for (const float number : numbers) add_bits(std::bit_cast<std::uint32_t>(number));
    return *this;
  }

  //! The eight bytes of a number that need not be whole.
  constexpr Fingerprint& add(std::floating_point auto number) {
    return add(std::bit_cast<std::uint64_t>(static_cast<double>(number)));
  }

  //! The hash of all that was added so far.
  [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

 private:
  constexpr void add_bits(std::uint64_t bits) { hash_ = (hash_ ^ bits) * 0x100000001B3; }

  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace weft
