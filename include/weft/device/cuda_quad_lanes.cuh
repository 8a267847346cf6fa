// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The lanes of a warp or a block that share a row, with four neighbouring columns each.
#pragma once

#include <weft/core/exp_sum.hpp>
#include <weft/core/index.hpp>
#include <weft/device/cuda_lanes.cuh>
#include <weft/device/cuda_quads.cuh>

namespace weft {

//! What `CudaLanes` is, for kernels that say by `lies_in_quads()` how their arrays lie. Four floats
//! come by one instruction where four came by four, each with its address and its condition: rows
//! of 4,096 numbers of 16 bits took an H200 80 instructions a number, and 2.7 times as long as its
//! memory.
//!
//! A row has fewer than 2^31 columns. Which are a thread's, and the order of every sum, depends on
//! their number alone and not on how they lie: without `AtOnce` they are read one by one. Where
//! rows end with a quad they are without `Tails`, which were two fifths of the longest kernel's
//! code.
template <int Threads, bool AtOnce, bool Tails>
struct CudaQuadLanes {
  static constexpr int threads = Threads;     //!< that share a row
  static constexpr int warp = 32;             //!< threads of a warp
  static constexpr int group = 4 * warp;      //!< columns of a warp's turn
  static constexpr int stride = 4 * Threads;  //!< columns from a turn to the next

  //! The thread's number among those of the row.
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }

  //! Calls `f(quad)` for this thread's columns of 0 to n - 1.
  template <class F>
  __device__ void for_each(index_t columns, F f) const {
    const int n = static_cast<int>(columns);
    for (int first = 4 * thread(); first < n; first += stride) with_quad(first, n, f);
  }

  //! Calls `put(quad, find(quad))` for this thread's columns; of what `put` writes, `find` reads
  //! the same columns at most. Eight columns are found before one is put: see `CudaLanes::map`.
  template <class Find, class Put>
  __device__ void map(index_t n, Find find, Put put) const {
    walk(
        n, [](int, int) { return uint2{}; }, [&](auto c, unsigned) { return find(c); }, put);
  }

  //! The same with `find(quad, kept)`: bit i of `kept` is what `decide` says of the quad's column
  //! i. `decide(first, place)` decides for 8 columns, by bit s for column first + 16 s + place,
  //! where 0 <= place < 16: half of a warp asks for a turn's 128, the other half for the next.
  template <class Decide, class Find, class Put>
  __device__ void map_kept(index_t n, Decide decide, Find find, Put put) const {
    const int lane = thread() % warp;
    const auto kept = [&](int base, int next) {
      unsigned decided = decide(index_t{lane < 16 ? base : next}, lane % 16);
      decided |= __shfl_xor_sync(~0u, decided, 16) << 8;  // of the lower lanes: both turns
      uint2 bits{};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned both = __shfl_sync(~0u, decided, lane % 4 * 4 + i) >> lane / 4;
        bits.x |= (both & 1u) << i;
        bits.y |= (both >> 8 & 1u) << i;
      }
      return bits;
    };
    walk(n, kept, find, put);
  }

  //! The number in each column that is kept, 0 in the others.
  [[nodiscard]] __device__ static simd::Four where_kept(unsigned kept, float number) {
    return simd::detail::each([&](int i) { return kept >> i & 1u ? number : 0.0f; });
  }

  //! `y` at each of this thread's columns becomes `f(quad)`, which reads there at most.
  template <class Y, class F>
  __device__ void write(index_t n, Y y, F f) const {
    map(n, f, [&](auto c, auto value) { simd::store(y, c, value); });
  }

  //! Returns when every lane is here, and what they wrote can be read by the others.
  __device__ void wait() const { CudaLanes<Threads>().wait(); }

  //! Calls `f()` on the lane to which `for_each` gives the column.
  template <class F>
  __device__ void at(index_t column, F f) const {
    if (column / 4 % Threads == thread()) f();
  }

  //! The sum over columns of `f(quad)`, in float, on every lane.
  template <class F>
  __device__ float sum(index_t n, F f) const {
    simd::Four total;
    map(n, f, [&](auto c, simd::Four x) { total += simd::mask_tail(c, x, 0.0f); });
    return CudaLanes<Threads>::sum_of(simd::sum(total));
  }

  //! What a lane has of the columns of some rows.
  template <int Count>
  using Packs = simd::Several<simd::Four, Count>;
  //! A lane's parts of some sums over columns.
  template <int Count>
  using Parts = simd::Several<float, Count>;

  //! Adds what a lane has found, which is 0 behind the last column.
  __device__ static void add(float& part, simd::Four found) { part += simd::sum(found); }

  //! The sums of all lanes' parts, on every lane: they wait for one another once.
  template <int Count>
  __device__ static void sum_all(const Parts<Count>& parts, float (&sums)[Count]) {
    CudaLanes<Threads>::sum_all(parts, sums);
  }

  //! The largest `f(quad)`, the sum of exponentials of all less that one, and the sum, on every
  //! lane, as `CudaLanes::exp_sum` finds them.
  template <class F>
  __device__ ExpSum exp_sum(index_t n, F f) const {
    float largest = detail::minus_infinity, exps = 0.0f, total = 0.0f;
    map(n, f, [&](auto c, simd::Four x) {
      total += simd::sum(simd::mask_tail(c, x, 0.0f));
      const simd::Four known = simd::mask_tail(c, x, detail::minus_infinity);
      const float of_all = simd::max(largest, simd::max(known));
      if (of_all != largest) exps *= simd::exp(largest - of_all);
      largest = of_all;
      // Less minus infinity they would be NaN; less 0 they are 0.
      const float base = largest == detail::minus_infinity ? 0.0f : largest;
      exps = __fadd_rn(exps, simd::sum(simd::exp(known - base)));
    });
    const float shift = CudaLanes<Threads>::largest_of(largest);
    if (largest != shift) exps *= simd::exp(largest - shift);
    return {shift, CudaLanes<Threads>::sum_of(exps), CudaLanes<Threads>::sum_of(total)};
  }

  //! What `exp_sum` finds, as `all`, and what writes what is made of each exponential.
  template <class F>
  __device__ detail::ExpsFoundAgain<CudaQuadLanes, F> exps(index_t n, F f) const {
    return {*this, n, f, exp_sum(n, f)};
  }

 private:
  //! Calls `put(quad, find(quad, bits))` for the quads of two turns, whose bits are `bits_of(base,
  //! next)` for the first columns of the warp. What a warp has of both is found before it is put.
  template <class BitsOf, class Find, class Put>
  __device__ void walk(index_t columns, BitsOf bits_of, Find find, Put put) const {
    const int n = static_cast<int>(columns);
    for (int base = thread() / warp * group; base < n; base += 2 * stride) {
      const int next = base + stride, own = base + 4 * (thread() % warp);
      const uint2 bits = bits_of(base, next);
      if (next + group <= n) {
        const simd::Quad<AtOnce> c{own}, d{own + stride};
        const auto found = find(c, bits.x), found_next = find(d, bits.y);
        put(c, found);
        put(d, found_next);
        continue;
      }
      const auto one = [&](int first, unsigned of_turn) {
        if (first < n) with_quad(first, n, [&](auto c) { put(c, find(c, of_turn)); });
      };
      one(own, bits.x);
      one(own + stride, bits.y);
    }
  }

  //! Calls `f` with the columns of a quad, all four or those that there are.
  template <class F>
  __device__ static void with_quad(int first, int n, F f) {
    if (!Tails || first + 4 <= n) {
      f(simd::Quad<AtOnce>{first});
    } else if constexpr (Tails) {
      f(simd::QuadTail{first, n - first});
    }
  }
};

}  // namespace weft
