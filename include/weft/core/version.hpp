// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The version of these headers, and the C++ that they need.
#pragma once

// What all others are built of includes this header, so that this is the first error; and the last,
// as a header that is missing ends what would go on for thousands of lines.
#if __cplusplus < 202002L
#error "weft needs C++20: compile with -std=c++20, by GCC 12, Clang 14 or CUDA 12, or newer"
#include <C++20>
#endif
#if !defined(__cpp_exceptions)
#error "weft reports errors by exceptions: compile without -fno-exceptions"
#include <exceptions>
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "weft leaves out updates that are not finite: add -fno-finite-math-only behind -ffast-math"
#include <finite_math>
#endif

#define WEFT_VERSION_MAJOR 0  //!< of 0.1.0 the first number
#define WEFT_VERSION_MINOR 1  //!< the second; before 1.0 a greater one may break programs
#define WEFT_VERSION_PATCH 0  //!< the third

//! The version as a number that grows: `#if WEFT_VERSION >= 200` has 0.2.0 and newer.
//!
//!     10000 major + 100 minor + patch
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

namespace weft {

//! The version of these headers as text.
inline constexpr const char* version = "0.1.0";

}  // namespace weft
