// expect: what a module's members shows is a Parameter, a DropoutSite or a module, or an
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

struct Scaled {
  nn::Linear<8, 8> linear;
  float factor = 0.5f;

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("linear", self.linear);
    visit("factor", self.factor);
  }
};

const auto count = nn::parameter_count(Scaled());
