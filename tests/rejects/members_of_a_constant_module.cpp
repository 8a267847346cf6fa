// expect: a module's members shows a constant to who gives it a place: it is a template over the
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

struct Gain {
  nn::Parameter gain{.shape = {8}};

  template <class Visit>
  static constexpr void members(const Gain& self, Visit&& visit) {
    visit("gain", self.gain);
  }
};

void place(Gain& gain, nn::ParameterLayout& layout) { nn::place_trained(gain, layout); }
