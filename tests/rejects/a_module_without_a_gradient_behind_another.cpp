// expect: only the first module of a Sequential may return nothing from backward
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

//! Hands on what it reads, and nothing on its way back.
struct End {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Rows<8, D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {x, {}};
  }
  template <class D>
  void backward(nn::Context<D>&, Saved<D>&&, const Rows<8, D>&) const {}
};

const nn::Sequential<nn::Linear<8, 8>, End> model;
