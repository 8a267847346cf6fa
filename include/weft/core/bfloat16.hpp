// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers of 16 bits with the range of a float.
#pragma once

#include <cstdint>

#include <weft/core/host_device.hpp>

namespace weft {

//! The upper half of a float: 8 bits of exponent, 7 of fraction. A rounded number is off by at most
//! 2^-8 of itself.
struct Bfloat16 {
  std::uint16_t bits = 0;  //!< Sign, exponent and fraction, as in the upper half of a float.

  Bfloat16() = default;
  //! Rounds to the nearest, ties to even; NaN stays NaN.
  WEFT_HOST_DEVICE explicit constexpr Bfloat16(float x) {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {  // one instruction for seven
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
      return;
    }
#endif
    const auto word = __builtin_bit_cast(std::uint32_t, x);  // a GPU may not call std::bit_cast
    const bool is_nan = (word & 0x7fff'ffffu) > 0x7f80'0000u;
    const std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
    bits = static_cast<std::uint16_t>(is_nan ? (word >> 16) | 0x40u : rounded >> 16);
  }

  //! Exact: every Bfloat16 is a float.
  WEFT_HOST_DEVICE explicit constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

}  // namespace weft
