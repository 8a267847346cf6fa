// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Growing caches of keys and values.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/ops/attention_problem.hpp>
#include <weft/ops/check.hpp>
#include <weft/tensor/view.hpp>

namespace weft::ops {

namespace detail {

struct AppendRow {
  static constexpr bool is_by_element = true;

  const float* cache;
  index_t cache_room;  // rows from sequence to sequence
  const index_t* parents;
  HeadRows<const float> fresh;
  float* out;
  index_t room;
  index_t first;   // of the rows that are written
  index_t length;  // of each sequence in `cache`
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const index_t written = length + 1 - first;
    const index_t sequence = n / written;
    const index_t position = first + n % written;
    const float* in = position == length ? fresh.data + sequence * fresh.stride
                                         : cache + (parents[sequence] * cache_room + position) * C;
    float* to = out + (sequence * room + position) * C;
    lanes.write(C, to, [&](auto c) { return simd::load(in, c); });
  }
};

struct PlaceRow {
  static constexpr bool is_by_element = true;

  HeadRows<const float> fresh;
  const index_t* places;
  float* cache;
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const float* in = fresh.data + n * fresh.stride;
    lanes.write(C, cache + places[n] * C, [&](auto c) { return simd::load(in, c); });
  }
};

inline void expect_room(index_t length, const Shape& cache) {
  if (cache.rank() == 3 && length >= 0 && length < cache[1]) return;
  throw ShapeError(text("append_rows: no room for row ", length, " in a cache of ", cache));
}

}  // namespace detail

//! out[h] = the first `length` rows of cache[parents[h]], then fresh[h]: sequence h continues its
//! parent by one row. Rows behind that stay as they are.
//!
//! **Shapes.** cache: (P, R, C), P sequences with room for R rows. parents: (H), each at least 0
//! and less than P. fresh: H rows of C. out: (H, S, C), another array than `cache`.
//! **Errors.** ShapeError unless `length` is at most R and less than S.
template <class D>
void append_rows(D& device, View<const float> cache, index_t length, View<const index_t> parents,
                 HeadRows<const float> fresh, View<float> out) {
  const index_t H = parents.size(), C = out.columns();
  detail::expect_room(length, out.shape);
  detail::expect_shape("append_rows", "out", out.shape, {H, out.shape[1], C});
  if (length > 0) {
    detail::expect_room(length - 1, cache.shape);
    detail::expect_shape("append_rows", "cache", cache.shape, {cache.shape[0], cache.shape[1], C});
  }
  device.for_rows(H * (length + 1), C,
                  detail::AppendRow{cache.data, length > 0 ? cache.shape[1] : 0, parents.data,
                                    fresh, out.data, out.shape[1], 0, length, C});
}

//! cache[h][length] = fresh[h]: every sequence continues itself, where it lies.
//!
//! **Shapes.** fresh: H rows of C. cache: (H, R, C).
//! **Errors.** ShapeError unless `length` is less than R.
template <class D>
void append_rows(D& device, index_t length, HeadRows<const float> fresh, View<float> cache) {
  const index_t C = cache.columns();
  detail::expect_room(length, cache.shape);
  device.for_rows(
      cache.shape[0], C,
      detail::AppendRow{nullptr, 0, nullptr, fresh, cache.data, cache.shape[1], length, length, C});
}

//! cache[places[n]] = fresh[n]: rows of sequences that have different lengths.
//!
//! **Shapes.** fresh: N rows of C. places: (N), each in 0 to M - 1, all different. cache: (M, C).
template <class D>
void append_rows(D& device, HeadRows<const float> fresh, View<const index_t> places,
                 View<float> cache) {
  const index_t C = cache.columns();
  device.for_rows(places.size(), C, detail::PlaceRow{fresh, places.data, cache.data, C});
}

}  // namespace weft::ops
