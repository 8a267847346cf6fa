// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file y = x + m(x).
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/ops/residual.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! A residual connection around any module that writes as many channels as it reads.
//!
//! **Shapes.** x, y: (N, C).
//! **Cost.** A pass over x and the module's output, which Transformer layers spare themselves by
//! joining it with dropout and normalisation (see nn/sublayer.hpp).
template <class M>
struct Residual {
  static_assert(sizeof(CheckModule<M>) > 0);
  static_assert(modules_meet<M, M>,
                "the module of a Residual must write as many channels as it reads");
  static_assert(!CheckModule<M>::returns_nothing(),
                "the module of a Residual must return the gradient of its input from backward");

  M branch;  //!< m

  constexpr Residual() = default;
  //! Around this module.
  constexpr explicit Residual(const M& module) : branch(module) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("branch", self.branch);
  }

  template <class D>
  using Input = InputOf<M, D>;
  template <class D>
  using Saved = typename M::template Saved<D>;

  template <class D>
  [[nodiscard]] Result<Input<D>, Saved<D>> forward(Context<D>& ctx, const Input<D>& x) const {
    auto [y, saved] = branch.forward(ctx, x);
    return {sum(ctx, x, y), std::move(saved)};
  }

  template <class D>
  [[nodiscard]] Input<D> backward(Context<D>& ctx, Saved<D>&& saved, const Input<D>& dy) const {
    return sum(ctx, dy, branch.backward(ctx, std::move(saved), dy));
  }

 private:
  template <class D>
  [[nodiscard]] static Input<D> sum(Context<D>& ctx, const Input<D>& a, const Input<D>& b) {
    Input<D> both{ctx.empty(a.values.shape()), a.layout};
    ops::residual(ctx.device(), {}, a.layout->keys, a.values, b.values, {}, both.values);
    return both;
  }
};

}  // namespace weft::nn
