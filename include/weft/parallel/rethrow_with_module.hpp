// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Which module made a number that is not finite.
#pragma once

#include <algorithm>
#include <string>

#include <weft/nn/parameter_layout.hpp>
#include <weft/ops/check_finite.hpp>

namespace weft::parallel {

//! Called with an error that is being handled: throws it on, with the path of the module that was
//! at work, if it is one of the objective. Of those that share a weight it names the first.
template <class Objective>
[[noreturn, gnu::cold]] void rethrow_with_module(const Objective& objective,
                                                 const ops::NotFiniteError& error) {
  const std::string path = nn::module_at(objective, error.parameter());
  if (path.empty()) throw;
  const auto& tied = objective.layout().tied;
  const bool is_shared = std::ranges::count(tied, error.parameter(), &nn::TiedGradient::to) > 0;
  throw ops::NotFiniteError(
      text(path, is_shared ? ", or what shares its weight" : "", ": ", error.message()),
      error.parameter());
}

}  // namespace weft::parallel
