// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Dropout as a module.
#pragma once

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! In training sets elements to 0 with a probability and scales up the others to make up for it.
//!
//! The elements that are dropped depend on the context's key and on each row's sequence and
//! position, not on how a batch was cut; the backward pass finds them again.
//!
//! **Shapes.** x, y: (N, C).
//! **Errors.** `forward` throws an ArgumentError in training unless 0 <= probability < 1.
template <index_t C>
struct Dropout {
  DropoutSite site;  //!< its probability and its number

  constexpr Dropout() = default;
  //! **Errors.** ArgumentError in training, unless 0 <= probability < 1.
  constexpr explicit Dropout(float probability) : site{probability} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("site", self.site);
  }

  template <class D>
  struct Saved {};

  template <class D>
  [[nodiscard]] Result<Rows<C, D>, Saved<D>> forward(Context<D>& ctx, const Rows<C, D>& x) const {
    if (!ctx.training()) return {x, {}};
    return {dropped(ctx, x), {}};
  }

  template <class D>
  [[nodiscard]] Rows<C, D> backward(Context<D>& ctx, Saved<D>&&, const Rows<C, D>& dy) const {
    return dropped(ctx, dy);
  }

 private:
  template <class D>
  [[nodiscard]] Rows<C, D> dropped(Context<D>& ctx, const Rows<C, D>& x) const {
    Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
    ops::dropout(ctx.device(), ctx.mask(site), x.layout->keys, x.values, y.values);
    return y;
  }
};

static_assert(UnaryModule<Dropout<1>>);

}  // namespace weft::nn
