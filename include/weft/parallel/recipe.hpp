// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What decides the numbers of a training run, apart from the data.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include <weft/core/chunks.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/optim/loss_scale.hpp>
#include <weft/parallel/loss_sum.hpp>

namespace weft::parallel {

//! How an update is computed. Two runs with one recipe give the same bits, whatever the number of
//! devices.
//!
//! A batch is cut into `micro_batches` parts, which are dealt to `lanes` in order. Inside a lane
//! gradients add up in ascending order; across lanes they add up in a balanced tree. A device works
//! on whole lanes, so at most `lanes` devices are busy.
struct Recipe {
  std::uint64_t seed = 1;     //!< of first values, dropout and the order of the data
  index_t lanes = 1;          //!< sums that gradients are kept in
  index_t micro_batches = 1;  //!< parts of a batch: at least one a lane
  double clip_norm = 0.0;  //!< the largest norm of the mean gradient; 0 for any
  //! What gradients are multiplied by in the backward pass: for products of float16. Without, by 1.
  std::optional<optim::LossScaling> loss_scaling = std::nullopt;

  //! **Errors.** ArgumentError unless lanes > 0, micro_batches >= lanes and clip_norm >= 0, and as
  //! `LossScaling::check`.
  void check() const {
    if (lanes < 1 || micro_batches < lanes || !(clip_norm >= 0.0)) {
      throw ArgumentError(text("recipe: ", lanes, " lanes, ", micro_batches,
                               " micro-batches, clipping at ", clip_norm,
                               "; needs at least one lane, a micro-batch a lane, and no negative"
                               " norm"));
    }
    if (loss_scaling) loss_scaling->check();
  }

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

//! What a strategy's losses begin to be scaled by.
//!
//! **Errors.** ArgumentError if the recipe scales and `Loss` does not say `scales_gradients`: that
//! it multiplies its gradients by `nn::Context::loss_scale`. (Inlined, g++ 12 would warn of the
//! empty optional in users' code.)
template <class Loss>
[[nodiscard, gnu::noinline]] optim::LossScale loss_scale_of(const Recipe& recipe) {
  if (!recipe.loss_scaling) return {};
  if constexpr (requires { requires Loss::scales_gradients; }) {
    return optim::LossScale(*recipe.loss_scaling);
  } else {
    throw ArgumentError(
        "recipe: loss_scaling needs a loss that multiplies its gradients by the context's "
        "loss_scale(), and says so: static constexpr bool scales_gradients = true");
  }
}

//! Its loss scaling, for ranks that compare recipes.
[[nodiscard]] inline std::string loss_scaling_text(const Recipe& recipe) {
  return recipe.loss_scaling ? to_text(*recipe.loss_scaling) : "none";
}

//! What an update did.
struct StepReport {
  LossSum loss;                //!< over the whole batch
  double gradient_norm = 0.0;  //!< of the mean gradient, unscaled and before clipping
  bool skipped = false;  //!< nothing was changed: the gradient was not finite, or no label counted
  //! Seconds that this rank did nothing but wait for others. With DistributedDataParallel over NCCL
  //! the host waits for its own GPU in the same place, so that is in it.
  double exposed_s = 0.0;
};

//! A batch that strategies can cut: `size()` sequences, and `part(device, range)`, the micro-batch
//! of a range of them on a device.
//!
//! **Semantics.** `part` is called on several devices' workers at once. Strategies over ranks need
//! `fingerprint()` too, a number that differs where batches do, and compare it: each rank is given
//! the whole batch, and no other one.
template <class B, class D>
concept Batch = requires(const B& batch, D& device, Range range) {
  { batch.size() } -> std::convertible_to<index_t>;
  batch.part(device, range);
};

}  // namespace weft::parallel
