// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Loops over registers.
#pragma once

//! Has the compiler write a short loop out.
//!
//! g++ -O2 leaves loops of four steps as loops, and an array that is indexed by their variable in
//! memory: the product is then a quarter as fast. nvcc hands the pragma on, and warns of it.
#define WEFT_UNROLL _Pragma("GCC unroll 16")
#ifdef __NVCC__
#pragma nv_diag_suppress 1675
#endif
