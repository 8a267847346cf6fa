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
  const float* cache;
  const index_t* parents;
  HeadRows<const float> fresh;
  float* out;
  index_t length;  // of each sequence in `cache`
  index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, index_t n) const {
    const index_t sequence = n / (length + 1);
    const index_t position = n % (length + 1);
    const float* in = position == length
                          ? fresh.data + sequence * fresh.stride
                          : cache + (parents[sequence] * length + position) * C;
    float* to = out + n * C;
    lanes.for_each(C, [&](auto c) { simd::store(to, c, simd::load(in, c)); });
  }
};

}  // namespace detail

//! out[h] = cache[parents[h]] followed by fresh[h]: sequence h continues its parent by one row.
//!
//! **Shapes.** cache: (P * T, C), P sequences of T rows. parents: (H), each in 0 to P - 1. fresh: H
//! rows of C. out: (H * (T + 1), C).
template <class D>
void append_rows(D& device, View<const float> cache, index_t length, View<const index_t> parents,
                 HeadRows<const float> fresh, View<float> out) {
  detail::expect_shape("append_rows", "out", out.shape,
                       {parents.size() * (length + 1), out.columns()});
  device.for_rows(out.rows(), out.columns(),
                  detail::AppendRow{cache.data, parents.data, fresh, out.data, length,
                                    out.columns()});
}

}  // namespace weft::ops
