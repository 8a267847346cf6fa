// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The word whose logit is the largest.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <weft/core/index.hpp>
#include <weft/device/cpu.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/generate/best_words.hpp>
#include <weft/nn/context.hpp>
#include <weft/ops/cpu/maximum_inner_product.hpp>
#include <weft/tensor/tensor.hpp>

namespace weft::generate {

//! Finds the most probable word of rows of a decoder's output.
//!
//! On a processor, a generator whose logits are inner products is screened in 16 bits, with the
//! words that float32 finds (`ops::MaximumInnerProduct`), unless products are rounded anyway.
template <class Generator, class D>
class LargestLogit {
 public:
  //! **Semantics.** The generator may not go, nor its weights change, as long as this lives.
  explicit LargestLogit(const Generator& generator) : generator_(&generator) {}

  //! What makes the logits.
  [[nodiscard]] const Generator& generator() const { return *generator_; }

  //! For each row the word of the largest logit, of equals the first, but for `excluded` words; -1
  //! where a logit is NaN or plus infinity, or all words are excluded.
  //!
  //! **Semantics.** Of one context's values, on one device.
  //! **Shapes.** x: (N, C). Returns (N).
  //! **Cost.** The first call may round the weights; their memory is kept.
  [[nodiscard]] std::vector<token_t> find(nn::Context<D>& ctx, const Tensor<float, D>& x,
                                          std::span<const token_t> excluded) {
    if constexpr (std::is_same_v<D, Cpu> && requires { requires Generator::has_inner_products; }) {
      if (ctx.device().product_precision() == ProductPrecision::float32 &&
          ops::MaximumInnerProduct::pays_for(x.rows(), x.columns())) {
        const View<const float> weight = ctx.value(generator_->weight);
        if (!screen_) screen_.emplace(ctx.device(), weight);
        return screen_->find(ctx.device(), x, generator_->bias_view(ctx), excluded);
      }
    }
    const auto logits = generator_->logits(ctx, x);
    std::vector<token_t> found;
    for (const auto& best : best_words(ctx.device(), logits, 1, without(ctx, excluded))) {
      found.push_back(std::isfinite(best.log_probability) ? best.word : -1);
    }
    return found;
  }

 private:
  //! The penalties that take words out; empty if there are none.
  [[nodiscard]] View<const float> without(nn::Context<D>& ctx, std::span<const token_t> excluded) {
    if (!std::ranges::equal(excluded, excluded_)) {
      excluded_.assign(excluded.begin(), excluded.end());
      penalties_ = excluded.empty()
                       ? Tensor<float, D>()
                       : without_words(ctx.device(), generator_->vocabulary(), excluded);
    }
    return penalties_;
  }

  const Generator* generator_;
  std::optional<ops::MaximumInnerProduct> screen_;
  std::vector<token_t> excluded_;  // by the last call
  Tensor<float, D> penalties_;     // that take them out
};

}  // namespace weft::generate
