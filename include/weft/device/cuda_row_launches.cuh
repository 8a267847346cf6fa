// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which lanes have a row of a GPU's kernels: those of a warp or of a block, one number or
//! four at a time, with what they compute of it in registers or not.
#pragma once

#include <weft/core/index.hpp>
#include <weft/device/cuda_held_lanes.cuh>
#include <weft/device/cuda_lanes.cuh>
#include <weft/device/cuda_quad_lanes.cuh>
#include <weft/device/cuda_rows.cuh>
#include <weft/device/kernel_name.cuh>

namespace weft::detail {

//! Whether each number that a kernel writes comes of its own column, so that lanes need not meet.
template <class F>
inline constexpr bool is_by_element = requires {
  requires F::is_by_element;
};

//! Whether a kernel's rows that lie in quads also end with one: they have as many columns as they
//! lie apart.
template <class F>
inline constexpr bool ends_in_quads = requires {
  requires F::ends_in_quads;
};

template <class Lanes, class Device, class F>
void launch_warps(Device& device, index_t n, const F& f) {
  constexpr index_t rows = block_threads / 32;
  device.launch(name_of_kernel<F>(), {(n + rows - 1) / rows, block_threads}, warp_a_row<Lanes, F>,
                f, n);
}

template <class Lanes, class Device, class F>
void launch_blocks(Device& device, index_t n, const F& f) {
  device.launch(name_of_kernel<F>(), {n, Lanes::threads}, block_a_row<Lanes, F>, f);
}

//! With the lanes of a warp for short rows, or those of a block for long ones.
template <class WarpLanes, class BlockLanes, class Device, class F>
void launch_by_length(Device& device, index_t n, index_t cost, const F& f) {
  // Where lanes need not meet, a warp is for rows that are many or short: it has more of a row to
  // do for each start than a block (40 instructions a number for 76, of residuals of 1,024
  // columns), but few rows of it would leave multiprocessors idle.
  constexpr index_t many_rows = 4096;
  const index_t most_for_a_warp = !is_by_element<F> ? 4096 : n >= many_rows ? 2048 : 1023;
  if (cost <= most_for_a_warp) {
    launch_warps<WarpLanes>(device, n, f);
  } else {
    launch_blocks<BlockLanes>(device, n, f);
  }
}

//! With lanes that have quads. Where a kernel uses a row's exponentials again, as it says by
//! `columns_of_exps`, the fewest lanes that hold them have a row.
template <bool AtOnce, bool Tails, class Device, class F>
void launch_quads(Device& device, index_t n, index_t cost, const F& f) {
  using Block = CudaQuadLanes<row_threads<F>, AtOnce, Tails>;
  if constexpr (requires { f.columns_of_exps(); }) {
    using Warp = CudaHeldLanes<32, AtOnce, Tails>;
    using Small = CudaHeldLanes<256, AtOnce, Tails>;
    using Large = CudaHeldLanes<1024, AtOnce, Tails>;
    const index_t columns = f.columns_of_exps();
    if (columns <= Warp::most) {
      launch_warps<Warp>(device, n, f);
    } else if (columns <= Small::most) {
      launch_blocks<Small>(device, n, f);
    } else if (columns <= Large::most) {
      launch_blocks<Large>(device, n, f);
    } else {
      launch_blocks<Block>(device, n, f);
    }
  } else {
    launch_by_length<CudaQuadLanes<32, AtOnce, Tails>, Block>(device, n, cost, f);
  }
}

//! Of `Cuda::for_rows`, which says what is called.
template <class Device, class F>
void launch_rows(Device& device, index_t n, index_t cost, const F& f) {
  if constexpr (requires { f.lies_in_quads(); }) {
    if (f.lies_in_quads()) {
      launch_quads<true, !ends_in_quads<F>>(device, n, cost, f);
    } else {
      launch_quads<false, true>(device, n, cost, f);
    }
  } else {
    launch_by_length<CudaLanes<32>, CudaLanes<row_threads<F>>>(device, n, cost, f);
  }
}

}  // namespace weft::detail
