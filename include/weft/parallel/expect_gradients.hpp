// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Whether a pass computed the gradients of all that is trained.
#pragma once

#include <weft/core/error.hpp>
#include <weft/nn/gradients.hpp>
#include <weft/nn/parameter_layout.hpp>

namespace weft::parallel {

//! `layout` has the places that a pass writes, and others without a size.
//!
//! **Errors.** Error if a pass left out a gradient: its parameter would stay as it is.
template <class Objective, class D>
void expect_gradients(const Objective& objective, const nn::ParameterLayout& layout,
                      const nn::Gradients<D>& gradients) {
  const int slot = gradients.first_unclaimed(layout);
  for (const auto& [name, p] : nn::named_parameters(objective)) {
    if (p.slot != slot) continue;
    throw Error(text("backward: nobody computed the gradient of \"", name,
                     "\": its module's backward has to hand it to ctx.gradient; what is not to "
                     "be trained is told by nn::freeze"));
  }
}

}  // namespace weft::parallel
