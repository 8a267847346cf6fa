// expect: a loss's forward returns an nn::Result of a LossSum and of the Saved<D>
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
  float forward(nn::Context<D>&, const Rows<32, D>&, const Tensor<token_t, D>&) const {
    return 0.0f;
  }
};

int devices(const DataParallel<Model, OwnLoss>& strategy) { return strategy.devices(); }
