// expect: what a model writes needs a member layout, as Rows have
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

//! Writes what it reads, twice.
struct Twice {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Output {
    Rows<8, D> first, second;
  };
  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Output<D>, Saved<D>> forward(nn::Context<D>&, const Rows<8, D>& x) const {
    return {{x, x}, {}};
  }
  template <class D>
  Rows<8, D> backward(nn::Context<D>&, Saved<D>&&, const Output<D>& dy) const {
    return dy.first;
  }
};

struct OwnLoss {
  explicit OwnLoss(const Twice&) {}
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {
    Twice::Output<D> dy;
  };
  template <class D>
  nn::Result<parallel::LossSum, Saved<D>> forward(nn::Context<D>&, const Twice::Output<D>&,
                                                  const Tensor<token_t, D>&) const {
    return {};
  }
  template <class D>
  Twice::Output<D> backward(nn::Context<D>&, Saved<D>&& saved, const LayoutPointer<D>&) const {
    return std::move(saved.dy);
  }
};

int devices(const GradientAccumulation<Twice, OwnLoss>& strategy) { return strategy.devices(); }
