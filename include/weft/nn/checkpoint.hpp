// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A module whose forward is computed again in the backward pass instead of being remembered.
#pragma once

#include <utility>

#include <weft/core/index.hpp>
#include <weft/nn/context.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>

namespace weft::nn {

//! Keeps only its input, and computes the rest again, with the same random numbers and so the same
//! bits, when the backward pass comes.
//!
//! Names of parameters are those of the module alone: a saved model fits with and without.
//! **Memory.** The input instead of what the module saves, which is there while its backward runs.
//! With `Zero<3>` a rank has all parameters of a stack inside one as long as its batch takes: a
//! stack of checkpoints, `LayerStack<Checkpoint<Layer>, ...>`, has them layer by layer.
//! **Cost.** Its forward once more.
//! **Source.** Chen et al. 2016; torch.utils.checkpoint.
template <class M>
struct Checkpoint {
  static_assert(sizeof(CheckModule<M>) > 0);

  M module;  //!< what is computed again

  constexpr Checkpoint() = default;
  //! Of this module.
  constexpr explicit Checkpoint(const M& of) : module(of) {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit.whole("", self.module);  // whose stacks run forth again where others run back
  }

  //! What a tied generator shares, where the module has it.
  [[nodiscard]] constexpr const Parameter& output_embedding() const requires requires(const M& m) {
    m.output_embedding();
  }
  { return module.output_embedding(); }
  //! How many words a tied generator has.
  [[nodiscard]] constexpr index_t target_vocabulary() const requires requires(const M& m) {
    m.target_vocabulary();
  }
  { return module.target_vocabulary(); }

  template <class D>
  struct Saved {
    InputOf<M, D> input;
  };

  template <class D>
  [[nodiscard]] Result<OutputOf<M, D>, Saved<D>> forward(Context<D>& ctx,
                                                         const InputOf<M, D>& x) const {
    return {module.forward(ctx, x).output, {x}};
  }

  template <class D>
  InputGradientOf<M, D> backward(Context<D>& ctx, Saved<D>&& saved,
                                 const OutputOf<M, D>& dy) const {
    auto again = module.forward(ctx, saved.input).saved;
    saved = {};
    return module.backward(ctx, std::move(again), dy);
  }
};

}  // namespace weft::nn
