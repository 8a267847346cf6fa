// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A module that does not do all of its work.
#pragma once

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::testing {

//! Has a gain whose gradient nobody computes.
template <index_t C>
struct Forgetful {
  nn::Parameter gain{.shape = {C}};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("gain", self.gain);
  }
  template <class D>
  struct Saved {};
  template <class D>
  [[nodiscard]] nn::Result<Rows<C, D>, Saved<D>> forward(nn::Context<D>&,
                                                         const Rows<C, D>& x) const {
    return {x, {}};
  }
  template <class D>
  [[nodiscard]] Rows<C, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<C, D>& dy) const {
    return dy;
  }
};

}  // namespace weft::testing
