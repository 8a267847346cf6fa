// expect: a loss needs a backward pass, which returns the gradient of what the model writes
// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/weft.hpp>

using namespace weft;

constexpr nn::TransformerShape shape{.d_model = 32, .heads = 4, .d_ff = 64};
using Model = nn::Transformer<shape>;

struct OwnLoss {
  explicit OwnLoss(const Model&) {}
  template <class Self, class Visit>
  static constexpr void members(Self&, Visit&&) {}
  template <class D>
  struct Saved {};
  template <class D>
  nn::Result<parallel::LossSum, Saved<D>> forward(nn::Context<D>&, const Rows<32, D>&,
                                                  const Tensor<token_t, D>&) const {
    return {};
  }
};

int devices(const DataParallel<Model, OwnLoss>& strategy) { return strategy.devices(); }
