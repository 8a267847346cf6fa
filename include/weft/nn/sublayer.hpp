// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The residual connection around a branch, with its normalisation before or after.
#pragma once

#include <utility>

#include <weft/nn/context.hpp>
#include <weft/nn/factor_rows.hpp>
#include <weft/nn/layer_norm.hpp>
#include <weft/nn/module.hpp>
#include <weft/nn/parameter.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/factor.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/tensor/sequences.hpp>

namespace weft::nn {

//! Where a layer normalises.
enum class Norm {
  pre,   //!< y = x + dropout(branch(norm(x)))
  post,  //!< y = norm(x + dropout(branch(x)))
};

//! What surrounds a branch (attention, feed-forward network) in a layer.
//!
//!     auto [z, saved_norm] = sublayer.enter(ctx, x);        // what the branch reads
//!     auto [b, saved_branch] = branch.forward(ctx, z);
//!     auto y = sublayer.leave(ctx, x, b, bias, saved_norm);
//!
//! and backwards
//!
//!     auto turn = sublayer.begin_backward(ctx, saved_norm, dy);
//!     branch.backward(ctx, saved_branch, turn.dbranch, turn.dinput, turn.write);
//!     auto dx = sublayer.end_backward(ctx, saved_norm, turn);
//!
//! **Source.** Post: Vaswani et al. 2017, section 3.1. Pre: Xiong et al. 2020.
template <index_t C, Norm Place>
struct Sublayer {
  LayerNorm<C> norm;    //!< before the branch or behind the sum
  DropoutSite dropout;  //!< of the branch's output

  constexpr Sublayer() = default;
  //! With this probability of dropping an element of the branch.
  constexpr explicit Sublayer(float dropout_probability) : dropout{dropout_probability} {}

  template <class Self, class Visit>
  static constexpr void members(Self& self, Visit&& visit) {
    visit("norm", self.norm);
    visit("dropout", self.dropout);
  }

  template <class D>
  struct Saved {
    LayoutPointer<D> layout;
    typename LayerNorm<C>::template Saved<D> norm;
  };

  //! The branch's input. `factor`: x as products read it, where the sublayer before wrote that.
  template <class D>
  [[nodiscard]] Result<FactorRows<C, D>, Saved<D>> enter(Context<D>& ctx, const Rows<C, D>& x,
                                                         const ops::Factor<D>& factor = {}) const {
    if constexpr (Place == Norm::pre) {
      auto [z, saved] = norm.forward_factor(ctx, x);
      return {std::move(z), {x.layout, std::move(saved)}};
    } else {
      return {{factor.empty() ? ops::Factor<D>(x.values) : factor, x.layout}, {x.layout, {}}};
    }
  }

  //! Room for what the next sublayer's products read, if `leave` can write it with its output:
  //! where the device rounds, and the branch there reads the output as it is.
  template <class D>
  [[nodiscard]] ops::Factor<D> room_for_factor(Context<D>& ctx, const Rows<C, D>& x) const {
    const FloatType type = ops::factor_type(ctx.device());
    if (Place == Norm::pre || type == FloatType::float32) return {};
    return ops::Factor<D>(ctx.device(), x.values.shape(), type);
  }

  //! The layer's output from its input x and the branch's output, to which `bias` is added; in
  //! `factor` too, unless that is empty.
  template <class D>
  [[nodiscard]] Rows<C, D> leave(Context<D>& ctx, const Rows<C, D>& x,
                                 const ops::FactorView& branch, View<const float> bias,
                                 Saved<D>& saved, const ops::Factor<D>& factor = {}) const {
    if constexpr (Place == Norm::pre) {
      Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
      ops::residual(ctx.device(), ctx.mask(dropout), x.layout->keys, x.values, branch, bias,
                    y.values);
      return y;
    } else {
      auto [y, saved_norm] =
          norm.forward_residual(ctx, x, ctx.mask(dropout), branch, bias, factor.target());
      saved.norm = std::move(saved_norm);
      return {std::move(y), x.layout};
    }
  }

  //! Half way through a backward pass.
  template <class D>
  struct Turn {
    ops::Factor<D> dbranch;    //!< the gradient of the branch's output
    Tensor<float, D> through;  //!< the gradient that passes by the branch
    Tensor<float, D> dinput;   //!< where the branch puts its input's gradient
    ops::Write write;          //!< whether it replaces or adds there
  };

  //! The branch's half of the way back begins. **Shapes.** dy: (N, C).
  template <class D>
  [[nodiscard]] Turn<D> begin_backward(Context<D>& ctx, Saved<D>& saved,
                                       const Tensor<float, D>& dy) const {
    Turn<D> turn;
    turn.dbranch = ops::Factor<D>(ctx.device(), dy.shape());
    if constexpr (Place == Norm::pre) {
      ops::dropout(ctx.device(), ctx.mask(dropout), saved.layout->keys, dy, turn.dbranch.target());
      turn.through = dy;
      turn.dinput = ctx.empty(dy.shape());
      turn.write = ops::Write::replace;
    } else {
      turn.through = norm.backward_residual(ctx, std::move(saved.norm), ctx.mask(dropout),
                                            saved.layout->keys, dy, turn.dbranch);
      turn.dinput = turn.through;
      turn.write = ops::Write::accumulate;
    }
    return turn;
  }

  //! The gradient of the layer's input, when the branch is done.
  template <class D>
  [[nodiscard]] Tensor<float, D> end_backward(Context<D>& ctx, Saved<D>& saved,
                                              Turn<D>&& turn) const {
    if constexpr (Place == Norm::pre) {
      return norm.backward(ctx, std::move(saved.norm), turn.dinput, turn.through);
    } else {
      return std::move(turn.dinput);
    }
  }
};

static_assert(Module<Sublayer<1, Norm::pre>>);

}  // namespace weft::nn
