// expect: a module among others needs one forward, of one input, that is const and a
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

struct Counting {
  int calls = 0;

  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) {
    ++calls;
    return {x, {}};
  }
  template <class D>
  Rows<8, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<8, D>& dy) const {
    return dy;
  }
};

const nn::Sequential<nn::Linear<8, 8>, Counting> model;
