// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A module that is used as it is: in evaluation, and without a way back.
#pragma once

#include <concepts>

#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/nn/parameter_groups.hpp>

namespace weft::nn {

//! Freezes a module and spares its backward pass: what a model begins with, and was trained before,
//! or a teacher. Nothing is dropped in it, and nothing saved.
//!
//!     using Model = nn::Sequential<nn::Frozen<Words>, Head>;
//!
//! A module that is only frozen, by `freeze`, computes the gradient of its input, for what may lie
//! before it. This one does not, so it can only be the first module. Names of parameters are those
//! of the module alone.
//!
//! **Errors.** As `freeze`.
//! **Source.** PyTorch's `requires_grad_(False)` and `eval()`, and what autograd then leaves out.
template <class M>
struct Frozen {
  static_assert(sizeof(CheckModule<M>) > 0);

  M module;  //!< what is frozen

  constexpr Frozen() requires std::default_initializable<M> : Frozen(M()) {}
  //! Of this module.
  constexpr explicit Frozen(const M& of) : module(of) { freeze(module); }

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("", self.module);
  }

  template <class D>
  struct Saved {};

  template <class D>
  [[nodiscard]] Result<OutputOf<M, D>, Saved<D>> forward(Context<D>& ctx,
                                                         const InputOf<M, D>& x) const {
    auto evaluating = ctx.evaluating();
    return {module.forward(evaluating, x).output, {}};
  }

  template <class D>
  void backward(Context<D>&, Saved<D>&&, const OutputOf<M, D>&) const {}
};

}  // namespace weft::nn
