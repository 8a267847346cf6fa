// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Marks functions that a CUDA compiler is to make for the host and the device.
#pragma once

#include <weft/core/version.hpp>

#if defined(__CUDACC__)
//! A function that runs on the host and, under nvcc, on a GPU.
#define WEFT_HOST_DEVICE __host__ __device__
#else
#define WEFT_HOST_DEVICE
#endif

// A kernel that is one source for both is compiled for a CPU with vectors, whose functions nvcc
// takes for a mistake in it wherever they are called. It would say the same of a kernel that calls
// the host from a GPU, which does not stop compilation: tests/cuda/gpu_alone.cu, which compiles for
// GPUs only, defines WEFT_CHECK_HOST_CALLS and lets it.
#if defined(__CUDACC__) && !defined(WEFT_CHECK_HOST_CALLS)
#pragma nv_diag_suppress 20011
#pragma nv_diag_suppress 20014
#endif

//! A function that is part of the loop that calls it.
#define WEFT_INLINE inline __attribute__((always_inline))
