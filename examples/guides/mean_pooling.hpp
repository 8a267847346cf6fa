// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A module that weft lacks: the mean of a sentence's rows.
// [include]
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/simd.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/tensor/sequences.hpp>

#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

namespace guides {
// [include]

//! y[b] = the mean of sentence b's rows of x; 0 where it has none.
struct MeanRow {
  const weft::index_t* starts;  // of the sentences, and the end
  const weft::RowKey* keys;
  const float* x;
  float* y;
  weft::RowKey* pooled_keys;
  weft::index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, weft::index_t b) const {
    const weft::index_t begin = starts[b], end = starts[b + 1];
    lanes.at(0, [&] { pooled_keys[b] = {begin < end ? keys[begin].sequence : 0, 0}; });
    lanes.write(C, y + b * C, [&](auto c) {
      auto sum = decltype(weft::simd::load(x, c)){};
      for (weft::index_t n = begin; n < end; ++n) sum += weft::simd::load(x + n * C, c);
      return begin < end ? sum * (1.0f / static_cast<float>(end - begin)) : sum;
    });
  }
};

//! The way back: each row of a sentence has its share of dy[b].
struct MeanBackwardRow {
  const weft::index_t* starts;
  const float* dy;
  float* dx;
  weft::index_t C;

  template <class Lanes>
  WEFT_HOST_DEVICE void operator()(Lanes lanes, weft::index_t b) const {
    const weft::index_t begin = starts[b], end = starts[b + 1];
    const float share = begin < end ? 1.0f / static_cast<float>(end - begin) : 0.0f;
    for (weft::index_t n = begin; n < end; ++n) {
      lanes.write(C, dx + n * C, [&](auto c) { return weft::simd::load(dy + b * C, c) * share; });
    }
  }
};

// [module]
//! A row for each sentence: the mean of its rows.
//!
//! **Shapes.** x: (N, C). y: (B, C).
template <weft::index_t C>
struct MeanPooling {
  //! It has no parameters.
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {
    weft::LayoutPointer<D> layout;  // of x
  };

  template <class D>
  weft::nn::Result<weft::Rows<C, D>, Saved<D>> forward(weft::nn::Context<D>& ctx,
                                                       const weft::Rows<C, D>& x) const {
    const weft::index_t B = x.layout->sequences();
    auto layout = std::make_shared<weft::SequenceLayout<D>>();  // B sequences of one row
    layout->offsets.resize(static_cast<std::size_t>(B) + 1);
    std::iota(layout->offsets.begin(), layout->offsets.end(), weft::index_t{0});
    layout->starts = weft::to_device<weft::index_t>(ctx.device(), layout->offsets, {B + 1});
    layout->keys = ctx.template empty<weft::RowKey>({B});
    layout->longest = B > 0 ? 1 : 0;
    auto y = ctx.empty({B, C});
    const weft::index_t cost = C * (1 + x.values.rows() / (B + 1));
    ctx.device().for_rows(B, cost,
                          MeanRow{x.layout->starts.data(), x.layout->keys.data(), x.values.data(),
                                  y.data(), layout->keys.data(), C});
    return {{std::move(y), std::move(layout)}, {x.layout}};
  }

  template <class D>
  weft::Rows<C, D> backward(weft::nn::Context<D>& ctx, Saved<D>&& saved,
                            const weft::Rows<C, D>& dy) const {
    const weft::index_t N = saved.layout->rows(), B = dy.values.rows();
    weft::Rows<C, D> dx{ctx.empty({N, C}), saved.layout};
    ctx.device().for_rows(
        B, C * (1 + N / (B + 1)),
        MeanBackwardRow{saved.layout->starts.data(), dy.values.data(), dx.values.data(), C});
    return dx;
  }
};

static_assert(weft::nn::UnaryModule<MeanPooling<1>>);
// [module]

}  // namespace guides
