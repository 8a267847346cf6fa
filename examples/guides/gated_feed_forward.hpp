// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A gated feed-forward network: a module made of modules and an operation.
// [members]
#pragma once

#include "silu_gate.hpp"

#include <weft/nn/context.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>

#include <utility>

namespace guides {

//! y = (silu(x G') * (x U')) D'.
//!
//! **Shapes.** x, y: (N, C). F: the inner width. gate, up: (F, C). down: (C, F).
//! **Source.** Shazeer 2020 (SwiGLU), without biases.
template <weft::index_t C, weft::index_t F>
struct GatedFeedForward {
  using Widening = weft::nn::Linear<C, F, /*Bias=*/false>;
  using Narrowing = weft::nn::Linear<F, C, /*Bias=*/false>;

  Widening gate, up;
  Narrowing down;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gate", self.gate);
    visit("up", self.up);
    visit("down", self.down);
  }
  // [members]

  // [forward]
  template <class D>
  struct Saved {
    typename Widening::template Saved<D> gate, up;
    weft::Tensor<float, D> gates, ups;  // (N, F): what silu_gate read
    typename Narrowing::template Saved<D> down;
  };

  template <class D>
  weft::nn::Result<weft::Rows<C, D>, Saved<D>> forward(weft::nn::Context<D>& ctx,
                                                       const weft::Rows<C, D>& x) const {
    auto [gates, saved_gate] = gate.forward(ctx, x);
    auto [ups, saved_up] = up.forward(ctx, x);
    weft::Rows<F, D> inner{ctx.empty(gates.values.shape()), x.layout};
    silu_gate(ctx.device(), gates.values, ups.values, inner.values);
    auto [y, saved_down] = down.forward(ctx, inner);
    return {std::move(y),
            {std::move(saved_gate), std::move(saved_up), gates.values, ups.values,
             std::move(saved_down)}};
  }
  // [forward]

  // [backward]
  template <class D>
  weft::Rows<C, D> backward(weft::nn::Context<D>& ctx, Saved<D>&& saved,
                            const weft::Rows<C, D>& dy) const {
    auto& device = ctx.device();
    const auto dinner = down.backward(ctx, std::move(saved.down), dy);
    weft::Rows<F, D> dgates{ctx.empty(dinner.values.shape()), dy.layout};
    weft::Rows<F, D> dups{ctx.empty(dinner.values.shape()), dy.layout};
    silu_gate_backward(device, saved.gates, saved.ups, dinner.values, dgates.values, dups.values);
    const auto from_gate = gate.backward(ctx, std::move(saved.gate), dgates);
    const auto from_up = up.backward(ctx, std::move(saved.up), dups);
    // x was read twice, so its gradient is a sum; neither term is ours to write to.
    weft::Rows<C, D> dx{ctx.empty(dy.values.shape()), dy.layout};
    weft::ops::copy(device, from_gate.values, dx.values);
    weft::ops::add(device, from_up.values, dx.values);
    return dx;
  }
  // [backward]
  // [concept]
};

static_assert(weft::nn::UnaryModule<GatedFeedForward<1, 1>>);
static_assert(weft::nn::parameter_count(GatedFeedForward<8, 12>()) == 3 * 8 * 12);

}  // namespace guides
// [concept]
