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
#include <weft/ops/residual.hpp>
#include <weft/ops/write.hpp>
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
//!     auto dx = sublayer.end_backward(ctx, std::move(saved_norm), std::move(turn));
//!
//! Where another sublayer follows, `leave_for` it and `turn_back` from it do both halves in one
//! pass over memory.
//!
//! **Source.** Post: Vaswani et al. 2017, section 3.1. Pre: Xiong et al. 2020.
template <index_t C, Norm Place, class Normalisation = LayerNorm<C>>
struct Sublayer {
  Normalisation norm;   //!< before the branch or behind the sum
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
    typename Normalisation::template Saved<D> norm;
  };

  //! The branch's input.
  template <class D>
  [[nodiscard]] Result<FactorRows<C, D>, Saved<D>> enter(Context<D>& ctx,
                                                         const Rows<C, D>& x) const {
    if constexpr (Place == Norm::pre) {
      auto [z, saved] = norm.forward_factor(ctx, x);
      return {std::move(z), {x.layout, std::move(saved)}};
    } else {
      return {{ops::Factor<D>(x.values), x.layout}, {x.layout, {}}};
    }
  }

  //! The layer's output from its input x and the branch's output, to which `bias` is added.
  template <class D>
  [[nodiscard]] Rows<C, D> leave(Context<D>& ctx, const Rows<C, D>& x,
                                 const ops::FactorView& branch, View<const float> bias,
                                 Saved<D>& saved) const {
    if constexpr (Place == Norm::pre) {
      Rows<C, D> y{ctx.empty(x.values.shape()), x.layout};
      ops::residual(ctx.device(), ctx.mask(dropout), x.layout->keys, x.values, branch, bias,
                    y.values);
      return y;
    } else {
      return leave_post(ctx, x, branch, bias, saved, {});
    }
  }

  //! What the next sublayer has.
  template <class D>
  struct Next {
    Rows<C, D> x;             //!< its input: this one's output
    FactorRows<C, D> branch;  //!< what its branch reads
    Saved<D> saved;           //!< its own
  };

  //! `leave`, and `enter` of the sublayer that follows.
  template <class D>
  [[nodiscard]] Next<D> leave_for(const Sublayer& next, Context<D>& ctx, const Rows<C, D>& x,
                                  const ops::FactorView& branch, View<const float> bias,
                                  Saved<D>& saved) const {
    if constexpr (Place == Norm::pre) {
      auto [z, of_next] =
          next.norm.forward_residual_factor(ctx, x, ctx.mask(dropout), branch, bias);
      Rows<C, D> y{of_next.x, x.layout};
      return {std::move(y), std::move(z), {x.layout, std::move(of_next)}};
    } else {
      // Where the device rounds, what products read is written with the sum.
      const FloatType type = ops::factor_type(ctx.device());
      ops::Factor<D> factor;
      if (type != FloatType::float32) {
        factor = ops::Factor<D>(ctx.device(), x.values.shape(), type);
      }
      auto y = leave_post(ctx, x, branch, bias, saved, factor.target());
      FactorRows<C, D> z{factor.empty() ? ops::Factor<D>(y.values) : factor, x.layout};
      return {std::move(y), std::move(z), {x.layout, {}}};
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
                                            saved.layout->keys, dy, {}, turn.dbranch);
      turn.dinput = turn.through;
      turn.write = ops::Write::accumulate;
    }
    return turn;
  }

  //! The gradient of the layer's input, when the branch is done.
  template <class D>
  [[nodiscard]] Tensor<float, D> end_backward(Context<D>& ctx, Saved<D>&& saved,
                                              Turn<D>&& turn) const {
    if constexpr (Place == Norm::pre) {
      return norm.backward(ctx, std::move(saved.norm), turn.dinput, turn.through);
    } else {
      return std::move(turn.dinput);
    }
  }

  //! `end_backward`, and `begin_backward` of the sublayer `before` this one.
  template <class D>
  [[nodiscard]] Turn<D> turn_back(const Sublayer& before, Context<D>& ctx, Saved<D>&& saved,
                                  Saved<D>& saved_before, Turn<D>&& turn) const {
    if constexpr (Place == Norm::pre) {
      turn.dbranch = ops::Factor<D>();  // its memory is free for what follows
      Turn<D> next;
      next.dbranch = ops::Factor<D>(ctx.device(), turn.dinput.shape());
      next.through =
          norm.backward_residual(ctx, std::move(saved.norm), ctx.mask(before.dropout),
                                 saved.layout->keys, turn.dinput, turn.through, next.dbranch);
      next.dinput = ctx.empty(turn.dinput.shape());
      next.write = ops::Write::replace;
      return next;
    } else {
      return before.begin_backward(ctx, saved_before, turn.dinput);
    }
  }

 private:
  //! Writes the output to a factor too, unless that is empty.
  template <class D>
  [[nodiscard]] Rows<C, D> leave_post(Context<D>& ctx, const Rows<C, D>& x,
                                      const ops::FactorView& branch, View<const float> bias,
                                      Saved<D>& saved, const ops::FactorTarget& factor) const {
    auto [y, saved_norm] = norm.forward_residual(ctx, x, ctx.mask(dropout), branch, bias, factor);
    saved.norm = std::move(saved_norm);
    return {std::move(y), x.layout};
  }
};

static_assert(Module<Sublayer<1, Norm::pre>>);

}  // namespace weft::nn
