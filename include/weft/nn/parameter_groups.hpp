// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Parameters that are not trained as the others are: not at all, at another rate, with
//! another weight decay.
//!
//! `freeze` is for a model before an `Objective` is made of it. The others are for that or for the
//! objective itself, whose loss may have parameters too, before a strategy is made of it. Of a
//! weight that modules share all is told where it is declared: with `Tie::all` of the source's
//! embedding.
#pragma once

#include <limits>

#include <weft/core/error.hpp>
#include <weft/nn/parameter.hpp>

namespace weft::nn {

namespace detail {

//! Whether this is an objective, which lists the groups of its parameters.
template <class Module>
concept HasGroups = requires(Module& objective) {
  objective.place_groups();
};

//! Calls `f` with each parameter, and has an objective list its groups anew.
template <class Module, class F>
constexpr void change_groups(Module& module, const F& f) {
  struct Change : Visitor {
    const F& f;
    constexpr explicit Change(const F& change) : f(change) {}
    constexpr void parameter(const char*, Parameter& p) { f(p); }
  };
  Change visitor(f);
  visit_members(module, visitor);
  if constexpr (HasGroups<Module>) module.place_groups();
}

struct Freeze : Visitor {
  static constexpr void parameter(const char*, Parameter& p) { p.trained = false; }
  static constexpr void tie(Parameter& use, const Parameter&) { use.trained = false; }
};

constexpr void expect_scale(const char* function, float scale) {
  if (scale >= 0.0f && scale <= std::numeric_limits<float>::max()) return;
  throw ArgumentError(text(function, ": a scale of ", scale, ", needs one of 0 or more"));
}

}  // namespace detail

//! Keeps a module's parameters as they are first set or loaded: they are saved, but have no
//! gradient and no place in the optimizer's buffers.
//!
//!     Model model(sizes);
//!     nn::freeze(model.encoder);
//!
//! All uses of a weight that modules share are frozen with the module that declares it. A module
//! that has a use alone, such as the target's embedding with `Tie::all`, does not freeze the
//! weight.
//!
//! **Errors.** ArgumentError from the Objective where the module that ties the two is frozen, and
//! the weight is not.
//! **Source.** PyTorch's `requires_grad_(False)`.
template <class Module>
constexpr void freeze(Module& module) {
  static_assert(!detail::HasGroups<Module>,
                "freeze is for a model before an Objective is made of it, whose parameters have "
                "their places");
  detail::Freeze visitor;
  visit_members(module, visitor);
}

//! Multiplies the learning rate of a module's parameters by a scale, on top of those before: a
//! tenth for what was trained elsewhere, say.
//!
//!     nn::scale_learning_rate(model.encoder, 0.1f);
//!
//! **Errors.** ArgumentError unless the scale is finite and >= 0.
//! **Source.** `lr` of PyTorch's parameter groups.
template <class Module>
constexpr void scale_learning_rate(Module& module, float scale) {
  detail::expect_scale("scale_learning_rate", scale);
  detail::change_groups(module, [scale](Parameter& p) { p.rate_scale *= scale; });
}

//! Multiplies the weight decay of a module's parameters, which the optimizer's settings ask for, by
//! a scale, on top of those before.
//!
//! **Errors.** ArgumentError unless the scale is finite and >= 0; from a strategy whose optimizer
//! has no `settings().weight_decay`.
//! **Source.** `weight_decay` of PyTorch's parameter groups.
template <class Module>
constexpr void scale_weight_decay(Module& module, float scale) {
  detail::expect_scale("scale_weight_decay", scale);
  detail::change_groups(module, [scale](Parameter& p) { p.decay_scale *= scale; });
}

//! Takes the weight decay off a module's vectors: biases, and the gains of normalisations. Matrices
//! keep theirs, as is usual for Transformers.
template <class Module>
constexpr void decay_matrices_only(Module& module) {
  detail::change_groups(module, [](Parameter& p) {
    if (p.shape.rank() == 1) p.decay_scale = 0.0f;
  });
}

}  // namespace weft::nn
