// expect: a module needs a static members(self, visit) that shows each of its parameters and
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

struct Nothing {
  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {x, {}};
  }
  template <class D>
  Rows<8, D> backward(nn::Context<D>&, Saved<D>&&, const Rows<8, D>& dy) const {
    return dy;
  }
};

const nn::Sequential<nn::Linear<8, 8>, Nothing> model;
