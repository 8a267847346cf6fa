// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Dropout whose mask is a function of the element, computed where it is needed.
#pragma once

#include <cstdint>

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/philox.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/device/lanes.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/factor.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! Which elements of a row survive, and what they are multiplied by.
//!
//! The probability is rounded to a multiple of 2^-16: one Philox call decides eight channels, by 16
//! bits each. Channel c of a row is decided by the half-word c / 16 % 8 of the counter
//! (c / 128 * 16 + c % 16, position, sequence, operation), so that sixteen neighbours come from
//! sixteen calls side by side and need no shuffling.
struct DropoutMask {
  RandomKey key;                //!< of the update
  std::uint32_t operation = 0;  //!< the number of the place that drops
  std::uint32_t threshold = 0;  //!< of 65536: an element is dropped if its 16 bits are below
  float scale = 1.0f;           //!< 1 / (1 - probability)

  //! Drops nothing.
  constexpr DropoutMask() = default;

  //! **Errors.** ArgumentError unless 0 <= probability < 1.
  DropoutMask(float probability, RandomKey random, std::uint32_t operation_id)
      : key(random), operation(operation_id) {
    if (!(probability >= 0.0f && probability < 1.0f)) {
      throw ArgumentError(text("dropout: a probability of ", probability, ", needs 0 <= p < 1"));
    }
    threshold = static_cast<std::uint32_t>(probability * 65536.0f + 0.5f);
    if (threshold > 65535) threshold = 65535;
    scale = 65536.0f / static_cast<float>(65536 - threshold);
  }

  //! Whether it drops anything.
  [[nodiscard]] WEFT_HOST_DEVICE constexpr bool active() const { return threshold != 0; }

  //! Of Philox: the fewest with which it passes all tests of BigCrush (Salmon et al. 2011), as in
  //! FlashAttention. Half of what attention does with dropout may be drawing masks.
  static constexpr int rounds = 7;

  //! How many columns one group of Philox calls decides.
  static constexpr index_t group_columns = 128;

  //! Calls `f(pack, factor)` over n columns; a factor is 0 or `scale`, or 1 if nothing is dropped.
  //! The columns are those from `first`, a multiple of `group_columns`, on; packs count from 0.
  template <class F>
  WEFT_INLINE void for_each(CpuLanes lanes, RowKey row, index_t n, F f, index_t first = 0) const {
    if (!active()) {
      lanes.for_each(n, [&](auto c) { f(c, simd::broadcast(1.0f)); });
      return;
    }
    for (index_t group = 0; group < n; group += group_columns) {
      const auto words = words_of(row, first + group);
      const index_t end = group + group_columns < n ? group + group_columns : n;
      int slot = 0;
      index_t c = group;
      for (; c + simd::width <= end; c += simd::width) f(simd::Full{c}, factor(words, slot++));
      if (c < end) f(simd::Tail{c, static_cast<int>(end - c)}, factor(words, slot));
    }
  }

  //! Calls `put(pack, find(pack, factor))` over n columns, as the `map` of lanes does.
  template <class Find, class Put>
  WEFT_INLINE void map(CpuLanes lanes, RowKey row, index_t n, Find find, Put put) const {
    for_each(lanes, row, n, [&](auto c, auto factor) { put(c, find(c, factor)); });
  }

  //! The same over the columns of one of many lanes of a GPU, of which some tell each other what
  //! they decided.
  template <class Lanes, class Find, class Put>
  WEFT_HOST_DEVICE void map(Lanes lanes, RowKey row, index_t n, Find find, Put put) const {
    if (!active()) {
      lanes.map(
          n, [&](auto c) { return find(c, 1.0f); }, put);
      return;
    }
    const auto decide = [&](index_t group, int place) {
      return unsigned{kept(lane_words(row, group, place))};
    };
    const auto find_kept = [&](auto c, unsigned bits) {
      return find(c, Lanes::where_kept(bits, scale));
    };
    lanes.map_kept(n, decide, find_kept, put);
  }

  //! `y` at each pack becomes `f(pack, factor)`, which reads there at most.
  template <class Lanes, class Y, class F>
  WEFT_HOST_DEVICE WEFT_INLINE void write(Lanes lanes, RowKey row, index_t n, Y y, F f) const {
    map(lanes, row, n, f, [&](auto c, auto value) { simd::store(y, c, value); });
  }

  //! The words that decide eight columns of `group`, each sixteen past the one before: the first is
  //! `lane` % 16.
  WEFT_HOST_DEVICE PhiloxBlock lane_words(RowKey row, index_t group, int lane) const {
    const auto counter = static_cast<std::uint32_t>(group / group_columns * 16 + lane % 16);
    return philox<rounds>({{counter, row.position, row.sequence, operation}}, key);
  }

  //! What one call decides: bit s is whether the column 16 s past its first survives; of the first
  //! `Slots` columns.
  template <int Slots = 8>
  WEFT_HOST_DEVICE std::uint8_t kept(const PhiloxBlock& words) const {
    unsigned bits = 0;
    for (int slot = 0; slot < Slots; ++slot) {
      const std::uint32_t word = words[slot / 2];
      const std::uint32_t half = slot % 2 == 0 ? word & 0xffffu : word >> 16;
      bits |= static_cast<unsigned>(half >= threshold) << slot;
    }
    return static_cast<std::uint8_t>(bits);
  }

 private:
  //! Not inlined: the rounds in each kernel would be a tenth of a program's code.
  [[gnu::noinline]] PhiloxWords words_of(RowKey row, index_t group) const {
    const auto first = static_cast<std::uint32_t>(group / group_columns * simd::width);
    return philox<rounds>(simd::iota<simd::Words>() + first, row.position, row.sequence, operation,
                          key);
  }

  WEFT_INLINE simd::Floats factor(const PhiloxWords& words, int slot) const {
    const simd::Words word = words.word[slot / 2];
    const simd::Words bits = slot % 2 == 0 ? word & 0xffffu : word >> 16;
    return simd::select(bits >= threshold, simd::broadcast(scale), simd::Floats{});
  }
};

namespace detail {

struct DropoutRow {
  static constexpr bool is_by_element = true;
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  const float* x;
  AnyFloats<void> y;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, x, y); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* in = x + n * C;
    mask.write(lanes, keys[n], C, y + n * C,
               [&](auto c, auto factor) { return simd::load(in, c) * factor; });
  }
};

}  // namespace detail

//! y = x with each element set to 0 with the mask's probability, the others scaled up to make up
//! for it. Its own backward: dx = dropout(dy) with the same mask.
//!
//! **Shapes.** x, y: (N, C); they may be the same, and y a `Factor`'s target. keys: (N).
//! **Errors.** ShapeError unless they fit.
template <class D>
void dropout(D& device, const DropoutMask& mask, View<const RowKey> keys, View<const float> x,
             const FactorTarget& y) {
  detail::expect_shape("dropout", "y", y, x.shape);
  detail::expect_shape("dropout", "keys", keys.shape, {x.rows()});
  device.for_rows(x.rows(), x.columns(),
                  detail::DropoutRow{mask, keys.data, x.data, y.numbers, x.columns()});
  detail::expect_finite(device, "dropout", "y", y);
}

}  // namespace weft::ops
