// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ends a training that no longer improves.
#pragma once

#include <weft/core/error.hpp>
#include <weft/core/text.hpp>

#include <cmath>
#include <optional>

namespace weft::train {

//! Which values of a metric are better.
enum class Better { lower, higher };

//! When to give up.
struct EarlyStoppingOptions {
  int patience = 5;  //!< evaluations
  Better better = Better::lower;  //!< of the metric
  double least_change = 0;        //!< what counts as an improvement
};

//! What a resumed training has to know.
struct EarlyStoppingState {
  std::optional<double> best;               //!< of all evaluations so far
  int evaluations_without_improvement = 0;  //!< in a row

  friend bool operator==(const EarlyStoppingState&, const EarlyStoppingState&) = default;
};

//! Watches a metric and says when it has not improved for `patience` evaluations in a row.
//!
//! A value is an improvement if it is better than the best by more than `least_change`; NaN never
//! is. The first value that is not NaN always is.
class EarlyStopping {
 public:
  //! **Errors.** ArgumentError unless patience is positive, least_change finite and not negative.
  explicit EarlyStopping(EarlyStoppingOptions options, EarlyStoppingState state = {})
      : options_(options), state_(state) {
    if (options.patience < 1) {
      throw ArgumentError(text("early stopping: the patience is ", options.patience));
    }
    if (!(options.least_change >= 0) || std::isinf(options.least_change)) {
      throw ArgumentError(text("early stopping: the least change is ", options.least_change));
    }
  }

  //! Takes the metric of an evaluation; true if it is an improvement, and so worth saving.
  bool update(double value) {
    const bool improved = is_improvement(value);
    if (improved) state_.best = value;
    state_.evaluations_without_improvement =
        improved ? 0 : state_.evaluations_without_improvement + 1;
    return improved;
  }

  //! Whether patience has run out.
  [[nodiscard]] bool should_stop() const noexcept {
    return state_.evaluations_without_improvement >= options_.patience;
  }

  //! Give it to the constructor to go on where this one stands.
  [[nodiscard]] const EarlyStoppingState& state() const noexcept { return state_; }

 private:
  [[nodiscard]] bool is_improvement(double value) const {
    if (!state_.best) return !std::isnan(value);
    const double change =
        options_.better == Better::lower ? *state_.best - value : value - *state_.best;
    return change > options_.least_change;
  }

  EarlyStoppingOptions options_;
  EarlyStoppingState state_;
};

}  // namespace weft::train
