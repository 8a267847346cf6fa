// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A module of three vectors.
#pragma once

#include <weft/nn/parameter.hpp>

namespace weft::testing {

//! Three vectors in a row, the first two of one shape, and a place of dropout.
struct Three {
  nn::Parameter a{.shape = {2}}, b{.shape = {2}}, c{.shape = {3}};
  nn::DropoutSite site{0.5f};

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("a", self.a);
    visit("b", self.b);
    visit("c", self.c);
    visit("site", self.site);
  }
};

}  // namespace weft::testing
