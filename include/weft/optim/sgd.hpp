// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Stochastic gradient descent.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/updates.hpp>
#include <weft/optim/optimizer.hpp>

namespace weft::optim {

//! The settings of SGD, with PyTorch's names and defaults.
struct SgdSettings {
  double momentum = 0.0;      //!< the share of the velocity that is kept
  double weight_decay = 0.0;  //!< added to the gradient as weight_decay * value
  bool nesterov = false;      //!< Nesterov's form of momentum
};

//! For messages, and for ranks that compare what they train with.
[[nodiscard]] inline std::string to_text(const SgdSettings& settings) {
  return text("SGD: momentum ", settings.momentum, ", weight_decay ", settings.weight_decay,
              ", nesterov ", settings.nesterov);
}

//! SGD; with `Momentum`, one buffer of velocities.
//!
//! **Errors.** ArgumentError unless 0 <= momentum < 1 and weight_decay is finite and >= 0, for a
//! momentum without the buffer, and for Nesterov without momentum.
//! **Source.** Formulas as in `torch.optim.SGD`, dampening 0.
template <bool Momentum>
class BasicSgd {
 public:
  //! What is the same for all parameters in an update.
  using Step = ops::SgdStep;
  //! The names of its buffers in saved states.
  static constexpr auto state_names = [] {
    if constexpr (Momentum) {
      return std::array<std::string_view, 1>{"velocity"};
    } else {
      return std::array<std::string_view, 0>{};
    }
  }();

  //! **Errors.** ArgumentError for settings that are out of their ranges.
  explicit BasicSgd(SgdSettings settings = {}) : settings_(settings) {
    if (!(settings.momentum >= 0.0 && settings.momentum < 1.0) ||
        !detail::is_amount(settings.weight_decay)) {
      throw ArgumentError(
          text(settings, "; needs 0 <= momentum < 1 and a weight_decay of 0 or more"));
    }
    if ((!Momentum && settings.momentum > 0.0) || (settings.nesterov && settings.momentum == 0.0)) {
      throw ArgumentError(text(settings, "; use SgdMomentum with a momentum above 0"));
    }
  }

  //! As the constructor was given them.
  [[nodiscard]] const SgdSettings& settings() const { return settings_; }

  //! What an update does at a rate, with gradients multiplied by a scale.
  //!
  //! **Errors.** ArgumentError unless the rate is finite and >= 0.
  [[nodiscard]] Step step(index_t, double rate, double gradient_scale) const {
    detail::expect_rate(rate);
    return {.gradient_scale = static_cast<float>(gradient_scale),
            .rate = static_cast<float>(rate),
            .momentum = static_cast<float>(settings_.momentum),
            .decay = static_cast<float>(settings_.weight_decay),
            .nesterov = settings_.nesterov};
  }

  //! Updates a part of the parameters. **Shapes.** All arrays begin with the first parameter's
  //! element. `rounded` takes the new values too, unless it is null.
  template <class D>
  static void update(D& device, const Step& step, Part part, const float* gradients, float* values,
                     const std::array<float*, state_names.size()>& state,
                     AnyFloats<void> rounded = {}) {
    float* velocities = nullptr;
    if constexpr (Momentum) velocities = state[0];
    ops::sgd_update(device, step, part.parameters, part.begin, part.end, gradients, values,
                    velocities, rounded);
  }

 private:
  SgdSettings settings_;
};

//! SGD without momentum: no buffers.
using Sgd = BasicSgd<false>;
//! SGD with momentum: one buffer.
using SgdMomentum = BasicSgd<true>;

static_assert(Optimizer<Sgd>);
static_assert(Optimizer<SgdMomentum>);

}  // namespace weft::optim
