// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers of 16 bits with more digits than Bfloat16, and a smaller range.
#pragma once

#include <cstdint>

#include <weft/core/host_device.hpp>

namespace weft {

//! IEEE 754's binary16: 5 bits of exponent, 10 of fraction. From 2^-14 to 65,504 a rounded number
//! is off by at most 2^-11 of itself; below that by at most 2^-25.
struct Float16 {
  std::uint16_t bits = 0;  //!< Sign, exponent and fraction.

  Float16() = default;
  //! Rounds to the nearest, ties to even: from 65,520 on to infinity. NaN stays NaN.
  WEFT_HOST_DEVICE explicit constexpr Float16(float x) {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {  // one instruction for some fifteen
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
      return;
    }
#endif
    const auto word = __builtin_bit_cast(std::uint32_t, x);  // a GPU may not call std::bit_cast
    const std::uint32_t size = word & 0x7fff'ffffu;
    std::uint32_t rounded = 0;
    if (size > 0x7f80'0000u) {
      rounded = 0x7e00u | (size >> 13 & 0x3ffu);
    } else if (size >= 0x4780'0000u) {  // 2^16
      rounded = 0x7c00u;
    } else if (size >= 0x3880'0000u) {  // 2^-14; the exponent's bias is 15, not 127
      rounded = (size - 0x3800'0000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    } else {  // the last bit of a sum from 0.5 to 1 is 2^-24
      const float sum = __builtin_bit_cast(float, size) + 0.5f;
      rounded = __builtin_bit_cast(std::uint32_t, sum) - 0x3f00'0000u;
    }
    bits = static_cast<std::uint16_t>((word >> 16 & 0x8000u) | rounded);
  }

  //! Exact: every Float16 is a float.
  WEFT_HOST_DEVICE explicit constexpr operator float() const {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {
      float x = 0.0f;
      asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
      return x;
    }
#endif
    const std::uint32_t size = bits & 0x7fffu;
    std::uint32_t wide = (size << 13) + 0x3800'0000u;
    if (size >= 0x7c00u) wide = 0x7f80'0000u | size << 13;
    if (size < 0x400u) {
      wide =
          __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, 0x3f00'0000u | size) - 0.5f);
    }
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits & 0x8000u) << 16 | wide);
  }
};

}  // namespace weft
