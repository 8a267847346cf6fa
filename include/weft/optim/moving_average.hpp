// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file An optimizer that keeps an exponential moving average (EMA) of the parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/ops/updates.hpp>
#include <weft/optim/optimizer.hpp>

namespace weft::optim {

//! A rule, and how its parameters are averaged.
template <class Rule>
struct MovingAverageSettings {
  Rule rule;     //!< what updates the parameters
  double decay;  //!< what is kept of the average at each update
};

//! For messages, and for ranks that compare what they train with.
template <class Rule>
[[nodiscard]] std::string to_text(const MovingAverageSettings<Rule>& settings) {
  std::string rule;
  if constexpr (requires { to_text(settings.rule.settings()); }) {
    rule = to_text(settings.rule.settings()) + "; ";
  }
  return text(rule, "moving average: decay ", settings.decay);
}

//! Updates by another optimizer, then averages the parameters over the updates.
//!
//!     optim::MovingAverage optimizer(optim::Adam({.beta2 = 0.98}), 0.9999);
//!     DataParallel<Model, Loss, optim::MovingAverage<optim::Adam>> train(..., optimizer, recipe);
//!
//! With v_i the parameters after update i, the average after update t is that of v_1 to v_t with
//! the weights decay^(t - i), which the parameters of the beginning have no part in. It is one of
//! the optimizer's buffers: strategies shard it, states keep it, and it has the bits of one device
//! under each of them. `parallel::with_average` puts it in the parameters' place, as `Trainer` does
//! to validate and to save models. An update that is left out leaves it as it is. As floats are
//! rounded, it no longer follows a value that it has come nearer to than some 2^-25 / (1 - decay)
//! of its size: 3e-5 at 0.999, 3e-4 at 0.9999.
//!
//! **Memory.** One buffer more.
//! **Cost.** Reads 8 bytes a parameter and writes 4, after the rule's own.
//! **Errors.** ArgumentError unless 0 <= decay < 1.
//! **Source.** Polyak and Juditsky 1992; the correction for the beginning as in Adam, where
//! PyTorch's `AveragedModel` with `get_ema_multi_avg_fn` begins with a copy of the first
//! parameters. Marian's
//! `--exponential-smoothing` is 1 - decay.
template <Optimizer Rule>
class MovingAverage {
  static_assert(std::ranges::find(Rule::state_names, "average") == Rule::state_names.end(),
                "MovingAverage: the optimizer that it wraps keeps an average already");

 public:
  //! Of the rule and the average.
  using Settings = MovingAverageSettings<Rule>;
  //! What is the same for all parameters in an update.
  struct Step : Rule::Step {
    float share;  //!< of the new values in the average
  };

  //! Which of its buffers is the average: the one behind the rule's.
  static constexpr std::size_t average_buffer = Rule::state_names.size();
  //! The names of its buffers in saved states.
  static constexpr auto state_names = [] {
    std::array<std::string_view, average_buffer + 1> names{};
    std::ranges::copy(Rule::state_names, names.begin());
    names[average_buffer] = "average";
    return names;
  }();

  //! **Errors.** ArgumentError unless 0 <= decay < 1.
  explicit MovingAverage(const Rule& rule = Rule(), double decay = 0.999) : settings_{rule, decay} {
    if (!(decay >= 0.0 && decay < 1.0)) {
      throw ArgumentError(text("moving average: a decay of ", decay, ", needs 0 <= decay < 1"));
    }
  }

  //! As the constructor was given them.
  [[nodiscard]] const Settings& settings() const { return settings_; }

  //! What update t = 1, 2, ... does at a rate, with gradients multiplied by a scale.
  //!
  //! **Errors.** As the rule's.
  [[nodiscard]] Step step(index_t update, double rate, double gradient_scale) const {
    const double decay = settings_.decay;
    const double weights = 1.0 - std::pow(decay, static_cast<double>(update));
    return {settings_.rule.step(update, rate, gradient_scale),
            static_cast<float>((1.0 - decay) / weights)};
  }

  //! Updates a part of the parameters as the rule does, then their average.
  template <class D, class... Rounded>
  static void update(D& device, const Step& step, Part part, const float* gradients, float* values,
                     const std::array<float*, state_names.size()>& state,
                     Rounded... rounded) requires requires(const StatePointers<Rule>& of_rule) {
    Rule::update(device, step, part, gradients, values, of_rule, rounded...);
  }
  {
    StatePointers<Rule> of_rule{};
    std::copy_n(state.begin(), of_rule.size(), of_rule.begin());
    Rule::update(device, step, part, gradients, values, of_rule, rounded...);
    const float* device_scale = nullptr;
    if constexpr (requires { step.device_scale; }) device_scale = step.device_scale;
    ops::average_update(device, step.share, device_scale, part.parameters, part.begin, part.end,
                        values, state[average_buffer]);
  }

  //! The same average of the rule with its weight decay multiplied by a scale.
  //!
  //! **Errors.** As `optim::with_scaled_decay` of the rule.
  [[nodiscard]] MovingAverage with_scaled_decay(double scale) const {
    return MovingAverage(optim::with_scaled_decay(settings_.rule, scale), settings_.decay);
  }

 private:
  Settings settings_;
};

}  // namespace weft::optim
