// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The lanes of a warp or a block whose registers hold a row.
#pragma once

#include <weft/core/exp_sum.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda_quad_lanes.cuh>

namespace weft {

namespace detail {

//! The exponentials of a row that each lane holds its own of, less the largest of its own.
template <class Lanes>
struct HeldExps {
  index_t n;
  simd::Four quads[Lanes::turns];
  simd::Four tail;  //!< on the lane that has the columns behind the last quad
  float ratio;      //!< makes them less the largest of the row
  ExpSum all;       //!< of the row

  //! `y` at each quad becomes `use(factor * exponentials)`. All lanes have read what they hold.
  template <class Y, class Use>
  __device__ void write(Y y, float factor, Use use) const {
    const float times = ratio * factor;
    Lanes::for_turns(n, [&](int turn, auto c) { simd::store(y, c, use(quads[turn] * times)); });
    Lanes::for_tail(n, [&](auto c) { simd::store(y, c, use(tail * times)); });
  }
};

}  // namespace detail

//! What `CudaQuadLanes` is, for rows of up to `most` columns, of which the registers hold what is
//! found first for what is written then: a row is read once, each exponential is found once, and
//! lanes wait for one another twice.
template <int Threads, bool AtOnce, bool Tails>
struct CudaHeldLanes : CudaQuadLanes<Threads, AtOnce, Tails> {
  using Quads = CudaQuadLanes<Threads, AtOnce, Tails>;  //!< the same that hold nothing

  //! Quads of a lane: with their addresses they leave it in 64 registers, and a multiprocessor has
  //! room for 1,024 threads.
  static constexpr int turns = 8;
  static constexpr index_t most = index_t{turns} * Quads::stride;  //!< columns of a row
  //! That a multiprocessor is to have room for; a block has a row, or a row for each of its warps.
  static constexpr int blocks = 1024 / (Threads == Quads::warp ? 256 : Threads);

  //! Calls `f(turn, quad)` for this thread's whole quads of n columns.
  template <class F>
  __device__ static void for_turns(index_t n, F f) {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int first = 4 * Quads::thread() + turn * Quads::stride;
      if (first + 4 <= static_cast<int>(n)) f(turn, simd::Quad<AtOnce>{first});
    }
  }

  //! Calls `f(quad)` on the lane that has the columns behind the last whole quad, if there are any.
  template <class F>
  __device__ static void for_tail(index_t n, F f) {
    if constexpr (Tails) {
      const int whole = static_cast<int>(n) / 4, count = static_cast<int>(n) % 4;
      if (count > 0 && whole % Threads == Quads::thread()) f(simd::QuadTail{4 * whole, count});
    }
  }

  //! What `CudaQuadLanes::exps` finds, of `most` columns at most.
  template <class F>
  __device__ detail::HeldExps<CudaHeldLanes> exps(index_t n, F f) const {
    constexpr float lowest = detail::minus_infinity;
    detail::HeldExps<CudaHeldLanes> held;
    held.n = n;
    const simd::Four none = simd::detail::each([](int) { return lowest; });
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) held.quads[turn] = none;
    held.tail = none;
    // Asked for before anything is made of one of them.
    for_turns(n, [&](int turn, auto c) { held.quads[turn] = f(c); });
    for_tail(n, [&](auto c) { held.tail = simd::mask_tail(c, f(c), lowest); });

    ExpSum own{lowest, 0.0f, 0.0f};
    const auto for_held = [&](auto use) {
      for_turns(n, [&](int turn, auto c) { use(c, held.quads[turn]); });
      for_tail(n, [&](auto c) { use(c, held.tail); });
    };
    for_held([&](auto c, simd::Four x) {
      // One instruction, which passes over NaNs: the exponentials have them.
      own.largest = fmaxf(own.largest, fmaxf(fmaxf(x.v[0], x.v[1]), fmaxf(x.v[2], x.v[3])));
      own.sum = __fadd_rn(own.sum, simd::sum(simd::mask_tail(c, x, 0.0f)));
    });
    // Less minus infinity they would be NaN; less 0 they are 0.
    const float base = own.largest == lowest ? 0.0f : own.largest;
    for_held([&](auto, simd::Four& x) {
      x = simd::exp(x - base);
      own.exps = __fadd_rn(own.exps, simd::sum(x));
    });
    held.all = of_all(own);
    held.ratio = ratio(own.largest, held.all.largest);
    return held;
  }

 private:
  static constexpr int warp = Quads::warp;

  //! What exponentials less the one are multiplied by to be less the other, which is as large.
  __device__ static float ratio(float largest, float of_more) {
    return largest == of_more ? 1.0f : simd::exp(largest - of_more);
  }

  //! Of all lanes of a warp, on every lane.
  __device__ static ExpSum of_warp(const ExpSum& part) {
    float largest = part.largest;
#pragma unroll
    for (int away = warp / 2; away > 0; away /= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, away));
    }
    // Rounded by itself: fused with the first sum below it would be another number on each lane.
    ExpSum all{largest, __fmul_rn(part.exps, ratio(part.largest, largest)), part.sum};
#pragma unroll
    for (int away = warp / 2; away > 0; away /= 2) {
      all.exps += __shfl_xor_sync(~0u, all.exps, away);
      all.sum += __shfl_xor_sync(~0u, all.sum, away);
    }
    return all;
  }

  //! Of all lanes of the row, on every lane.
  __device__ static ExpSum of_all(const ExpSum& part) {
    const ExpSum of_own_warp = of_warp(part);
    if constexpr (Threads == warp) {
      __syncwarp();  // all have read what is written next
      return of_own_warp;
    } else {
      __shared__ ExpSum of_warps[Threads / warp];
      const int lane = Quads::thread() % warp;
      if (lane == 0) of_warps[Quads::thread() / warp] = of_own_warp;
      __syncthreads();
      const ExpSum of_lane =
          lane < Threads / warp ? of_warps[lane] : ExpSum{detail::minus_infinity, 0.0f, 0.0f};
      __syncthreads();  // the next may be written
      return of_warp(of_lane);
    }
  }
};

}  // namespace weft
