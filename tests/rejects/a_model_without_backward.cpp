// expect: a module that is trained needs a backward pass: backward(ctx, Saved<D>&& saved, const
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

//! Halves what it reads, and does not know how to go back.
struct Half {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {x, {}};
  }
};

using Loss = Chunked<nn::BasicGenerator<8>, nn::CrossEntropy>;

int devices(const DataParallel<Half, Loss>& strategy) { return strategy.devices(); }
