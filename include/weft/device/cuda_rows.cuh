// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Kernels that give each row to a warp or to a block of threads.
#pragma once

#include <cuda_runtime.h>

#include <weft/core/index.hpp>
#include <weft/device/wgmma.cuh>

namespace weft::detail {

inline constexpr int block_threads = 256;

//! Blocks that a multiprocessor is to have room for, by which the compiler limits registers: as
//! lanes say that hold a row in them, or as many as a kernel says by `row_blocks`, tried on an
//! H200; 0 leaves it to the compiler.
template <class Lanes, class F>
constexpr int row_blocks() {
  if constexpr (requires { Lanes::blocks; }) {
    return Lanes::blocks;
  } else if constexpr (requires { F::row_blocks; }) {
    return F::row_blocks;
  } else {
    return 0;
  }
}

//! Calls `f(lanes, row)` with a warp for each of n rows.
template <class Lanes, class F>
__global__ void __launch_bounds__(block_threads, row_blocks<Lanes, F>())
    warp_a_row(F f, index_t n) {
  const index_t row = (static_cast<index_t>(blockIdx.x) * block_threads + threadIdx.x) / 32;
  if (row < n) f(Lanes(), row);
}

//! Threads of a block that has a row: as many as a kernel says by `row_threads`, or 256.
template <class F>
inline constexpr int row_threads = block_threads;
template <class F>
requires requires { F::row_threads; }
inline constexpr int row_threads<F> = F::row_threads;

//! The same of a kernel with these lanes. Those that hold a row say how many they are; of others it
//! is the kernel that says it, by which `NothingRow` tells for what it was compiled.
template <class Lanes, class F>
constexpr int bounded_threads() {
  if constexpr (requires { Lanes::blocks; }) {
    return Lanes::threads;
  } else {
    return row_threads<F>;
  }
}

//! Whether every GPU's multiprocessor has room for a kernel's blocks: of sm_86 and sm_89, among
//! others, it takes 1,536 threads, and ptxas refuses to plan for more.
template <class Lanes, class F>
inline constexpr bool rows_fit_everywhere = bounded_threads<Lanes, F>() * row_blocks<Lanes, F>() <=
                                            1536;

//! Calls `f(lanes, row)` with a block for each row.
template <class Lanes, class F>
requires rows_fit_everywhere<Lanes, F> __global__ void __launch_bounds__(
    bounded_threads<Lanes, F>(), row_blocks<Lanes, F>()) block_a_row(F f) {
  f(Lanes(), static_cast<index_t>(blockIdx.x));
}

#if CUDART_VERSION >= 12040
//! A thread's registers, as so many blocks of so many threads leave it.
#define WEFT_BOUNDS(threads, blocks) __maxnreg__(65536 / ((threads) * (blocks)))
#else
//! Before CUDA 12.4, which brought __maxnreg__, a block's threads alone.
#define WEFT_BOUNDS(threads, blocks) __launch_bounds__(threads)
#endif

//! The same, where not, with the registers that so many blocks leave a thread.
template <class Lanes, class F>
requires(!rows_fit_everywhere<Lanes, F>) __global__
    void WEFT_BOUNDS((bounded_threads<Lanes, F>()), (row_blocks<Lanes, F>())) block_a_row(F f) {
  f(Lanes(), static_cast<index_t>(blockIdx.x));
}

#undef WEFT_BOUNDS

//! Does nothing. Whether a GPU has code for it tells whether the program was compiled for that GPU,
//! and how many threads that code takes tells whether it was for sm_90a.
struct NothingRow {
  static constexpr int threads_with_wgmma = 128;
  static constexpr int row_threads = ptx::has_wgmma ? threads_with_wgmma : block_threads;

  template <class Lanes>
  __device__ void operator()(Lanes, index_t) const {}
};

}  // namespace weft::detail
