// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Token embeddings with positions and dropout, forward and backward.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/core/simd_quad.hpp>
#include <weft/device/cpu.hpp>
#include <weft/ops/check.hpp>
#include <weft/ops/check_finite.hpp>
#include <weft/ops/check_ids.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/write.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct EmbeddingRow {
  static constexpr bool is_by_element = true;
  static constexpr bool ends_in_quads = true;

  DropoutMask mask;
  const RowKey* keys;
  const token_t* ids;
  index_t V;
  const float* table;
  float scale;
  const float* positions;  // may be null
  float* y;
  index_t C;

  [[nodiscard]] bool lies_in_quads() const { return simd::lie_in_quads(C, table, positions, y); }

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    expect_id(ids[n], V);
    const float* word = table + static_cast<index_t>(ids[n]) * C;
    const float* position =
        positions == nullptr ? nullptr : positions + static_cast<index_t>(keys[n].position) * C;
    mask.write(lanes, keys[n], C, y + n * C, [&](auto c, auto factor) {
      auto value = simd::load(word, c) * scale;
      if (position != nullptr) value += simd::load(position, c);
      return value * factor;
    });
  }
};

template <class D>
void check_positions(const char* operation, const SequenceLayout<D>& layout, index_t positions) {
  if (layout.longest <= positions) return;
  throw ShapeError(text(operation, ": a sequence of ", layout.longest,
                        " tokens is longer than the ", positions, " positions"));
}

}  // namespace detail

//! y[n] = dropout(scale * table[ids[n]] + positions[position of row n]).
//!
//! **Shapes.** ids, keys: (N). table: (V, C). positions: (T, C), or empty for none; T must exceed
//! every position. y: (N, C).
//! **Errors.** ShapeError unless they fit, and if a sequence is longer than T. On a Cpu
//! ArgumentError for an id outside 0 to V - 1; a GPU's kernel faults.
template <class D>
void embedding(D& device, const DropoutMask& mask, const SequenceLayout<D>& layout,
               View<const token_t> ids, View<const float> table, float scale,
               View<const float> positions, View<float> y) {
  detail::expect_shape("embedding", "y", y.shape, {ids.size(), table.columns()});
  detail::expect_shape("embedding", "keys", layout.keys.shape(), {ids.size()});
  detail::expect_shape_if_given("embedding", "positions", positions,
                                {positions.rows(), table.columns()});
  if (positions.data != nullptr) detail::check_positions("embedding", layout, positions.rows());
  detail::expect_ids(device, "embedding", "word", ids, table.rows());
  device.for_rows(ids.size(), table.columns(),
                  detail::EmbeddingRow{mask, layout.keys.data(), ids.data, table.rows(), table.data,
                                       scale, positions.data, y.data, table.columns()});
  detail::expect_finite(device, "embedding", "y", y);
}

namespace detail {

//! Row n of `x` is added, scaled, to row ids[n] of a table.
struct RowAddition {
  const token_t* ids;
  index_t N;
  const float* x;
  float scale;
  View<float> table;
};

//! table[ids[n]] += scale x[n], rows in ascending order.
inline void add_rows(Cpu& device, const RowAddition& rows) {
  const index_t C = rows.table.columns();
  // Each thread its own columns, so that two rows of one word never meet.
  device.for_parts((C + simd::width - 1) / simd::width, 1, [&](index_t begin, index_t end) {
    const index_t first = begin * simd::width;
    const index_t columns = (end * simd::width < C ? end * simd::width : C) - first;
    for (index_t n = 0; n < rows.N; ++n) {
      float* out = rows.table.data + static_cast<index_t>(rows.ids[n]) * C + first;
      const float* in = rows.x + n * C + first;
      CpuLanes{}.for_each(columns, [&](auto c) {
        simd::store(out, c, simd::load(out, c) + simd::load(in, c) * rows.scale);
      });
    }
  });
}

struct PositionRow {
  const RowKey* keys;
  token_t* positions;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes, index_t n) const {
    positions[n] = static_cast<token_t>(keys[n].position);
  }
};

//! Writes 0 to every element.
struct ClearRow {
  static constexpr bool is_by_element = true;

  float* x;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    float* row = x + n * C;
    lanes.for_each(C, [&](auto c) { simd::store(row, c, decltype(simd::load(row, c)){}); });
  }
};

}  // namespace detail

//! dtable[ids[n]] += scale * dy[n], rows in ascending order; a row that no token names gets 0.
//!
//! **Shapes.** ids: (N). dy: (N, C), after dropout's backward. dtable: (V, C).
//! **Errors.** ShapeError unless they fit. The ids are those that `embedding` took.
template <class D>
void embedding_backward(D& device, View<const token_t> ids, View<const float> dy, float scale,
                        View<float> dtable, Write write) {
  detail::expect_shape("embedding_backward", "dy", dy.shape, {ids.size(), dtable.columns()});
  if (write == Write::replace) {
    device.for_rows(dtable.rows(), dtable.columns(),
                    detail::ClearRow{dtable.data, dtable.columns()});
  }
  add_rows(device, detail::RowAddition{ids.data, ids.size(), dy.data, scale, dtable});
  detail::expect_finite(device, "embedding_backward", "dtable", dtable);
}

//! dpositions[position of row n] += dy[n]; a position that no row has gets 0.
//!
//! **Shapes.** dy: (N, C). dpositions: (T, C).
//! **Errors.** ShapeError unless they fit, and if a sequence is longer than T.
template <class D>
void position_backward(D& device, const SequenceLayout<D>& layout, View<const float> dy,
                       View<float> dpositions, Write write) {
  detail::check_positions("position_backward", layout, dpositions.rows());
  const Tensor<token_t, D> positions(device, {layout.rows()});
  device.for_rows(layout.rows(), 1, detail::PositionRow{layout.keys.data(), positions.data()});
  embedding_backward(device, View<const token_t>(positions), dy, 1.0f, dpositions, write);
}

}  // namespace weft::ops
