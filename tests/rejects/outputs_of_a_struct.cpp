// expect: outputs takes a strategy whose model writes Rows
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/language_model_data.hpp>
#include <weft/weft.hpp>

using namespace weft;

//! Writes what it reads, twice.
struct Twice {
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}

  template <class D>
  struct Output {
    TokenSequences<D> first, second;
    LayoutPointer<D> layout;
  };
  template <class D>
  struct Saved {};

  template <class D>
  nn::Result<Output<D>, Saved<D>> forward(nn::Context<D>&, const TokenSequences<D>& x) const {
    return {{x, x, x.layout}, {}};
  }
  template <class D>
  void backward(nn::Context<D>&, Saved<D>&&, const Output<D>&) const {}
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

auto run(GradientAccumulation<Twice, OwnLoss>& train,
         const train::LanguageModelDeviceBatch& batch) {
  return train::outputs(train, batch);
}
