// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The lanes of a CPU thread that share a row.
#pragma once

#include <limits>

#include <weft/core/any_floats.hpp>
#include <weft/core/exp_sum.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_narrow.hpp>

namespace weft {

//! Walks over the columns of one row, sixteen at a time.
//!
//! A kernel that is a row or an element is written once, against this interface; on a GPU its
//! lanes are those of a warp or block. Every sum has a fixed order: sixteen running sums, then a
//! tree, whatever the machine's own vector width.
struct CpuLanes {
  //! Calls `f(pack)` for the packs that cover columns 0 to n - 1.
  template <class F>
  WEFT_INLINE void for_each(index_t n, F f) const {
    index_t c = 0;
    for (; c + simd::width <= n; c += simd::width) f(simd::Full{c});
    if (c < n) f(simd::Tail{c, static_cast<int>(n - c)});
  }

  //! Calls `put(pack, find(pack))` for the packs; of what `put` writes, `find` reads the same
  //! columns at most. A GPU's lane finds all its numbers of a group before it puts one.
  template <class Find, class Put>
  WEFT_INLINE void map(index_t n, Find find, Put put) const {
    for_each(n, [&](auto c) { put(c, find(c)); });
  }

  //! `y` at each pack becomes `f(pack)`, which reads there at most.
  template <class Y, class F>
  WEFT_INLINE void write(index_t n, Y y, F f) const {
    map(n, f, [&](auto c, auto value) { simd::store(y, c, value); });
  }

  //! Returns when every lane is here, and what they wrote can be read by the others.
  WEFT_INLINE void wait() const {}

  //! Calls `f()` on the lane to which `for_each` gives the column.
  template <class F>
  WEFT_INLINE void at(index_t, F f) const {
    f();
  }

  //! The sum over columns of `f(pack)`, in float.
  template <class F>
  WEFT_INLINE float sum(index_t n, F f) const {
    simd::Floats total{};
    for_each(n, [&](auto c) { total += simd::mask_tail(c, f(c), 0.0f); });
    return simd::sum(total);
  }

  //! What a lane has of the columns of some rows.
  template <int Count>
  using Packs = simd::Several<simd::Floats, Count>;
  //! A lane's parts of some sums over columns.
  template <int Count>
  using Parts = simd::Several<simd::Floats, Count>;

  //! Adds what a lane has found, which is 0 behind the last column.
  WEFT_INLINE static void add(simd::Floats& part, simd::Floats found) { part += found; }

  //! The sums of all lanes' parts, each as `sum` finds it. A GPU's lanes wait for one another once.
  template <int Count>
  WEFT_INLINE static void sum_all(const Parts<Count>& parts, float (&sums)[Count]) {
    for (int i = 0; i < Count; ++i) sums[i] = simd::sum(parts.v[i]);
  }

  //! The largest `f(pack)`; minus infinity over no columns.
  template <class F>
  WEFT_INLINE float max(index_t n, F f) const {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    simd::Floats largest = simd::broadcast(lowest);
    for_each(n, [&](auto c) { largest = simd::max(largest, simd::mask_tail(c, f(c), lowest)); });
    return simd::max(largest);
  }

  //! The largest `f(pack)`, the sum of exponentials of all less that one, and the sum. A GPU's
  //! lanes ask for each number once.
  template <class F>
  WEFT_INLINE ExpSum exp_sum(index_t n, F f) const {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    simd::Floats largest = simd::broadcast(lowest), total{};
    for_each(n, [&](auto c) {
      const simd::Floats x = f(c);
      largest = simd::max(largest, simd::mask_tail(c, x, lowest));
      total += simd::mask_tail(c, x, 0.0f);
    });
    const float shift = simd::max(largest);
    return {shift, sum(n, [&](auto c) { return simd::exp(f(c) - shift); }), simd::sum(total)};
  }

  //! What `exp_sum` finds, as `all`, and what writes what is made of each exponential. Lanes of a
  //! GPU that hold a row find each once.
  template <class F>
  WEFT_INLINE detail::ExpsFoundAgain<CpuLanes, F> exps(index_t n, F f) const {
    return {*this, n, f, exp_sum(n, f)};
  }
};

}  // namespace weft
