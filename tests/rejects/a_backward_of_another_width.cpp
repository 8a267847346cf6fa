// expect: a module's backward must return the gradient of its input, of the input's type
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

//! Halves what it reads, and forgets on its way back how wide that was.
struct Half {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {x, {}};
  }
  template <class D>
  Rows<4, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<8, D>&) const {
    return {};
  }
};

const nn::Sequential<nn::Linear<8, 8>, Half> model;
