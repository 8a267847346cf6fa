// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Rotary positions: channels of queries and keys turned by angles that grow with the
//! position.
#pragma once

#include <weft/core/any_floats.hpp>
#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/cpu/unroll.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

//! Which way channels are turned.
enum class Turn {
  forth,  //!< by the angle
  back,   //!< by the angle's negative: the gradient's way
};

namespace detail {

struct RotaryRow {
  static constexpr int row_threads = 128;  // of a GPU's block: most heads have fewer pairs

  const RowKey* keys;
  const float* frequencies;
  AnyFloats<void> x;
  index_t stride, heads, pairs;
  float direction;  // 1 or -1

  //! The angles of a row are the same in all of its heads: a lane finds those of its pairs once.
  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float position = static_cast<float>(keys[n].position) * direction;
    const AnyFloats<void> row = x + n * stride;
    lanes.for_each(pairs, [&](auto c) {
      const auto [cosine, sine] = simd::cos_sin(simd::load(frequencies, c) * position);
      for (index_t head = 0; head < heads; head += together) {
        const int count = static_cast<int>(heads - head < together ? heads - head : together);
        const AnyFloats<void> first = row + 2 * head * pairs, second = first + pairs;
        auto a = typename Lanes::template Packs<together>{}, b = a;
        WEFT_UNROLL for (int i = 0; i < together; ++i) {
          // Where there is no such head the first is read, so that nothing is asked before it.
          const index_t at = i < count ? 2 * i * pairs : 0;
          a.v[i] = simd::load(first + at, c);
          b.v[i] = simd::load(second + at, c);
        }
        WEFT_UNROLL for (int i = 0; i < together; ++i) {
          if (i >= count) continue;
          simd::store(first + 2 * i * pairs, c, a.v[i] * cosine - b.v[i] * sine);
          simd::store(second + 2 * i * pairs, c, b.v[i] * cosine + a.v[i] * sine);
        }
      }
    });
  }

 private:
  static constexpr int together = 4;  // heads, which are read before any of them is written
};

}  // namespace detail

//! Turns channels i and P + i of each head, as a vector of two, by position * frequencies[i]:
//!
//!     x[i], x[P + i] = x[i] cos - x[P + i] sin, x[P + i] cos + x[i] sin
//!
//! The product of a query and a key is then a function of how far apart they are.
//!
//! **Shapes.** keys: (N), whose positions count from 0 in each sequence. frequencies: (P). x: N
//! rows of so many heads of 2 P channels, in place.
//! **Errors.** ShapeError unless there are heads and frequencies, and rows have room for them.
//! **Source.** Su et al. 2021, eq. 34, with the channels of a pair half a head apart, as in
//! Hugging Face's Llama.
template <class D>
void rotary(D& device, View<const RowKey> keys, View<const float> frequencies, AnyHeadRows<void> x,
            index_t heads, Turn turn) {
  const index_t pairs = frequencies.size(), rows = keys.size();
  if (pairs < 1 || heads < 1 || x.stride < 2 * heads * pairs) {
    throw ShapeError(
        text("rotary: ", heads, " heads of ", pairs, " pairs of channels in rows of ", x.stride));
  }
  device.for_rows(rows, 2 * heads * pairs,
                  detail::RotaryRow{keys.data, frequencies.data, x.data, x.stride, heads, pairs,
                                    turn == Turn::forth ? 1.0f : -1.0f});
  detail::expect_finite(device, "rotary", "x", x.data, rows, 2 * heads * pairs, x.stride);
}

}  // namespace weft::ops
