// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Adam and AdamW.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/updates.hpp>
#include <weft/optim/optimizer.hpp>

namespace weft::optim {

//! The settings of Adam, or with `Decoupled` of AdamW, with PyTorch's names and defaults.
template <bool Decoupled>
struct BasicAdamSettings {
  double beta1 = 0.9;     //!< decay of the first moment
  double beta2 = 0.999;   //!< decay of the second moment
  double epsilon = 1e-8;  //!< added to the root of the second moment
  //! Adam adds weight_decay * value to the gradient; AdamW takes rate * weight_decay of each value.
  double weight_decay = Decoupled ? 0.01 : 0.0;
};

//! The settings of Adam.
using AdamSettings = BasicAdamSettings<false>;
//! The settings of AdamW.
using AdamWSettings = BasicAdamSettings<true>;

//! For messages, and for ranks that compare what they train with.
template <bool Decoupled>
[[nodiscard]] std::string to_text(const BasicAdamSettings<Decoupled>& settings) {
  return text(Decoupled ? "AdamW" : "Adam", ": beta1 ", settings.beta1, ", beta2 ", settings.beta2,
              ", epsilon ", settings.epsilon, ", weight_decay ", settings.weight_decay);
}

//! Adam; with `Decoupled`, AdamW, whose weight decay passes by the moments.
//!
//! **Errors.** ArgumentError unless 0 <= beta < 1, and epsilon and weight_decay are finite and not
//! negative.
//! **Source.** Kingma and Ba 2015; Loshchilov and Hutter 2019; formulas as in `torch.optim`.
template <bool Decoupled>
class BasicAdam {
 public:
  //! With the defaults of this one.
  using Settings = BasicAdamSettings<Decoupled>;
  //! What is the same for all parameters in an update.
  using Step = ops::AdamStep;
  //! The names of its buffers in saved states.
  static constexpr std::array<std::string_view, 2> state_names{"first_moment", "second_moment"};

  //! **Errors.** ArgumentError for settings that are out of their ranges.
  explicit BasicAdam(const Settings& settings = {}) : settings_(settings) {
    const auto decay = [](double beta) { return beta >= 0.0 && beta < 1.0; };
    if (!decay(settings.beta1) || !decay(settings.beta2) || !detail::is_amount(settings.epsilon) ||
        !detail::is_amount(settings.weight_decay)) {
      throw ArgumentError(text(settings,
                               "; needs 0 <= beta1, beta2 < 1, and epsilon and weight_decay "
                               "of 0 or more"));
    }
  }

  //! As the constructor was given them.
  [[nodiscard]] const Settings& settings() const { return settings_; }

  //! What update t = 1, 2, ... does at a rate, with gradients multiplied by a scale.
  //!
  //! **Errors.** ArgumentError unless the rate is finite and >= 0.
  [[nodiscard]] Step step(index_t update, double rate, double gradient_scale) const {
    detail::expect_rate(rate);
    const auto t = static_cast<double>(update);
    const double correction1 = 1.0 - std::pow(settings_.beta1, t);
    const double correction2 = 1.0 - std::pow(settings_.beta2, t);
    const double decay = settings_.weight_decay;
    return {.gradient_scale = static_cast<float>(gradient_scale),
            .beta2 = static_cast<float>(settings_.beta2),
            .share1 = static_cast<float>(1.0 - settings_.beta1),
            .share2 = static_cast<float>(1.0 - settings_.beta2),
            .step_size = static_cast<float>(rate / correction1),
            .inverse_sqrt_correction = static_cast<float>(1.0 / std::sqrt(correction2)),
            .epsilon = static_cast<float>(settings_.epsilon),
            .coupled_decay = Decoupled ? 0.0f : static_cast<float>(decay),
            .decoupled_factor = Decoupled ? static_cast<float>(1.0 - rate * decay) : 1.0f};
  }

  //! Updates a part of the parameters. **Shapes.** All arrays begin with the first parameter's
  //! element. `rounded` takes the new values too, unless it is null.
  template <class D>
  static void update(D& device, const Step& step, Part part, const float* gradients, float* values,
                     const std::array<float*, 2>& state, AnyFloats<void> rounded = {}) {
    ops::adam_update(device, step, part.parameters, part.begin, part.end, gradients, values,
                     state[0], state[1], rounded);
  }

 private:
  Settings settings_;
};

//! Adam as PyTorch's `torch.optim.Adam`.
using Adam = BasicAdam<false>;
//! Adam whose weight decay is decoupled, as `torch.optim.AdamW`.
using AdamW = BasicAdam<true>;

static_assert(Optimizer<Adam>);
static_assert(Optimizer<AdamW>);

}  // namespace weft::optim
