// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The lanes of a warp or a block that share a row.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <limits>

#include <weft/core/exp_sum.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>

namespace weft {

namespace detail {

//! Code for a GPU may not call std::numeric_limits.
inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

}  // namespace detail

//! What CpuLanes is for a thread, for 32 threads of a warp or the 128 to 1,024 of a block.
//!
//! A warp takes 128 columns at a time and a thread four of them, 32 apart: neighbours read
//! neighbouring words, and one call of Philox decides which of the four are kept. A column belongs
//! to the same thread in every walk over a row. Every sum has a fixed order: that of a thread's
//! columns, then CUB's.
template <int Threads>
struct CudaLanes {
  static_assert(Threads == 32 || Threads == 128 || Threads == 256 || Threads == 1024);

  static constexpr int threads = Threads;  //!< that share a row
  static constexpr int warp = 32;          //!< threads of a warp
  static constexpr index_t group = 128;    //!< columns of a warp's turn

  //! The thread's number among those of the row.
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }

  //! Calls `f(first)` for the groups of columns that are this warp's.
  template <class F>
  __device__ void for_each_group(index_t n, F f) const {
    for (index_t first = thread() / warp * group; first < n; first += Threads / warp * group) {
      f(first);
    }
  }

  //! Calls `f(turn, column)` for this thread's columns of a group, of those below n.
  template <class F>
  __device__ void in_group(index_t first, index_t n, F f) const {
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      const index_t column = first + turn * warp + thread() % warp;
      if (column < n) f(turn, column);
    }
  }

  //! Calls `f(column)` for this thread's columns of 0 to n - 1.
  template <class F>
  __device__ void for_each(index_t n, F f) const {
    for_each_group(
        n, [&](index_t first) { in_group(first, n, [&](int, index_t column) { f(column); }); });
  }

  //! Calls `put(column, find(column))` for this thread's columns; of what `put` writes, `find`
  //! reads the same column at most. Four columns are found before one is put: what is written may
  //! be what is read next, as far as the compiler knows, and a thread would wait for each number.
  template <class Find, class Put>
  __device__ void map(index_t n, Find find, Put put) const {
    for_each_group(n, [&](index_t first) {
      map_group(
          first, n, [&](int, index_t c) { return find(c); }, put);
    });
  }

  //! The same for the columns of a group; `find` is called with the turn, too. In the place of a
  //! column behind the last it is called with the thread's first one, so that nothing is asked
  //! between what it reads, and finds what nobody puts.
  template <class Find, class Put>
  __device__ void map_group(index_t first, index_t n, Find find, Put put) const {
    const index_t own = first + thread() % warp;
    if (own >= n) return;
    decltype(find(0, own)) found[4];
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      found[turn] = find(turn, own + turn * warp < n ? own + turn * warp : own);
    }
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      if (own + turn * warp < n) put(own + turn * warp, found[turn]);
    }
  }

  //! What `map` is, with `find(column, kept)`. `decide(first, place)` decides for 8 columns: by bit
  //! s whether column first + 16 s + place is kept, where 0 <= place < 16.
  template <class Decide, class Find, class Put>
  __device__ void map_kept(index_t n, Decide decide, Find find, Put put) const {
    const int lane = thread() % warp;
    for_each_group(n, [&](index_t first) {
      const unsigned kept = decide(first, lane % 16) >> lane / 16;
      map_group(
          first, n, [&](int turn, index_t c) { return find(c, kept >> 2 * turn & 1u); }, put);
    });
  }

  //! The number if it is kept, else 0.
  [[nodiscard]] __device__ static float where_kept(unsigned kept, float number) {
    return kept != 0 ? number : 0.0f;
  }

  //! `y` at each of this thread's columns becomes `f(column)`, which reads there at most.
  template <class Y, class F>
  __device__ void write(index_t n, Y y, F f) const {
    map(n, f, [&](index_t c, auto value) { simd::store(y, c, value); });
  }

  //! Returns when every lane is here, and what they wrote can be read by the others.
  __device__ void wait() const {
    if constexpr (Threads == warp) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  //! Calls `f()` on the lane to which `for_each` gives the column.
  template <class F>
  __device__ void at(index_t column, F f) const {
    const index_t owner = column / group % (Threads / warp) * warp + column % warp;
    if (owner == thread()) f();
  }

  //! The sum over columns of `f(column)`, in float, on every lane.
  template <class F>
  __device__ float sum(index_t n, F f) const {
    float total = 0.0f;
    for_each(n, [&](index_t c) { total += f(c); });
    return sum_of(total);
  }

  //! The largest `f(column)`, on every lane; minus infinity over no columns.
  template <class F>
  __device__ float max(index_t n, F f) const {
    float largest = detail::minus_infinity;
    // As on the CPU: the new value if either is NaN.
    for_each(n, [&](index_t c) {
      const float value = f(c);
      largest = largest > value ? largest : value;
    });
    return largest_of(largest);
  }

  //! The largest `f(column)`, the sum of exponentials of all less that one, and the sum, on every
  //! lane. A lane keeps its sum of exponentials less the largest number so far: a row that does not
  //! fit a cache is read once.
  template <class F>
  __device__ ExpSum exp_sum(index_t n, F f) const {
    float largest = detail::minus_infinity, exps = 0.0f, total = 0.0f;
    for_each_group(n, [&](index_t first) {
      float values[4], group_largest = largest;
      in_group(first, n, [&](int turn, index_t c) { values[turn] = f(c); });
      in_group(first, n, [&](int turn, index_t) {
        total += values[turn];
        group_largest = group_largest > values[turn] ? group_largest : values[turn];
      });
      if (group_largest != largest) exps *= simd::exp(largest - group_largest);
      largest = group_largest;
      // Less minus infinity they would be NaN; less 0 they are 0.
      const float base = largest == detail::minus_infinity ? 0.0f : largest;
      in_group(first, n, [&](int turn, index_t) { exps += simd::exp(values[turn] - base); });
    });
    const float shift = largest_of(largest);
    if (largest != shift) exps *= simd::exp(largest - shift);
    return {shift, sum_of(exps), sum_of(total)};
  }

  //! The sum of a number that each lane has, on every lane.
  __device__ static float sum_of(float value) {
    return reduce(value, [](float a, float b) { return a + b; });
  }
  //! The largest of a number that each lane has, on every lane.
  __device__ static float largest_of(float value) {
    return reduce(value, [](float a, float b) { return a > b ? a : b; });
  }

  //! A lane's parts of some sums over columns.
  template <int Count>
  using Parts = simd::Several<float, Count>;
  //! What a lane has of the columns of some rows.
  template <int Count>
  using Packs = simd::Several<float, Count>;

  //! The sums of all lanes' parts, on every lane: they wait for one another once.
  template <int Count>
  __device__ static void sum_all(const Parts<Count>& parts, float (&sums)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      sums[i] = parts.v[i];
#pragma unroll
      for (int away = warp / 2; away > 0; away /= 2) {
        sums[i] += __shfl_xor_sync(~0u, sums[i], away);
      }
    }
    if constexpr (Threads > warp) {
      __shared__ alignas(16) float of_warps[Count][Threads / warp];
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        if (thread() % warp == 0) of_warps[i][thread() / warp] = sums[i];
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        sums[i] = 0.0f;
#pragma unroll
        for (int of_warp = 0; of_warp < Threads / warp; ++of_warp) {
          sums[i] += of_warps[i][of_warp];
        }
      }
      __syncthreads();  // the next sums may be written
    }
  }

 private:
  //! The same value on every lane.
  template <class Operation>
  __device__ static float reduce(float value, Operation operation) {
    if constexpr (Threads == warp) {
      using Reduce = cub::WarpReduce<float>;
      typename Reduce::TempStorage storage;  // shared memory's, of which CUB uses none for a warp
      return __shfl_sync(~0u, Reduce(storage).Reduce(value, operation), 0);
    } else {
      using Reduce = cub::BlockReduce<float, Threads>;
      __shared__ typename Reduce::TempStorage storage;
      __shared__ float result;
      const float reduced = Reduce(storage).Reduce(value, operation);
      if (threadIdx.x == 0) result = reduced;
      __syncthreads();
      const float everyones = result;
      __syncthreads();  // the next reduction may write
      return everyones;
    }
  }
};

}  // namespace weft
