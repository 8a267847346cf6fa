// expect: a module's Saved<D> must be a plain value, which can be made without arguments
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

//! Halves what it reads, and has a reference to it.
struct Half {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {
    const Rows<8, D>& x;
  };

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {x, {x}};
  }
  template <class D>
  Rows<8, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<8, D>& dy) const {
    return dy;
  }
};

const nn::Sequential<nn::Linear<8, 8>, Half> model;
