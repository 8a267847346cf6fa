// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether a pass computed the gradients of all that is trained.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/nn/gradients.hpp>
#include <weft/nn/parameter_layout.hpp>

namespace weft::parallel {

//! `layout` has the places that a pass writes, and others without a size.
//!
//! **Errors.** Error if a pass left out a gradient: its parameter would stay as it is.
template <class Objective, class D>
void expect_gradients(const Objective& objective, const nn::ParameterLayout& layout,
                      const nn::Gradients<D>& gradients) {
  const auto slot = static_cast<std::size_t>(gradients.first_unclaimed(layout));
  if (slot == layout.slots.size()) return;
  const auto is_tied_to = [&, place = layout.slots[slot].first](index_t weight) {
    return std::ranges::any_of(layout.tied, [&](const nn::TiedGradient& use) {
      return use.from == place && use.to == weight;
    });
  };
  for (const auto& [name, p] : nn::named_parameters(objective)) {
    if (!p.trained || p.size() == 0) continue;
    if (std::cmp_equal(p.slot, slot)) {
      throw Error(text("backward: nobody computed the gradient of \"", name,
                       "\": its module's backward has to hand it to ctx.gradient; what is not to "
                       "be trained is told by nn::freeze"));
    }
    if (is_tied_to(p.gradient_offset)) {
      throw Error(text("backward: nobody computed the gradient of a further use of \"", name,
                       "\": the backward of the module that ties it has to hand it to "
                       "ctx.gradient"));
    }
  }
}

}  // namespace weft::parallel
