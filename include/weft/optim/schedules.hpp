// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How the learning rate changes with the number of updates.
//!
//! A schedule is a function of the update 1, 2, ...: it holds no state, so a resumed run finds the
//! same rates.
#pragma once

#include <cmath>
#include <concepts>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::optim {

//! Anything that gives a rate for an update, counted from 1.
template <class S>
concept RateSchedule = requires(const S& schedule, index_t update) {
  { schedule(update) } -> std::convertible_to<double>;
};

//! The same rate always.
struct Constant {
  double rate;  //!< of every update

  //! The rate of an update.
  double operator()(index_t) const { return rate; }
};

//! factor * d_model^-0.5 * min(t^-0.5, t * warmup^-1.5).
//!
//! **Source.** Vaswani et al. 2017, eq. 3.
struct Noam {
  index_t d_model;        //!< channels of the model
  double factor = 1.0;    //!< multiplies every rate
  index_t warmup = 4000;  //!< updates in which the rate rises

  //! The rate of an update. **Errors.** ArgumentError unless d_model > 0.
  double operator()(index_t update) const {
    if (d_model < 1) throw ArgumentError(text("Noam: a model of ", d_model, " channels"));
    const auto t = static_cast<double>(update);
    const auto w = static_cast<double>(warmup);
    const double shape = warmup < 1 ? 1.0 / std::sqrt(t)
                                    : std::fmin(1.0 / std::sqrt(t), t / (w * std::sqrt(w)));
    return factor * shape / std::sqrt(static_cast<double>(d_model));
  }
};

//! Rises linearly from `initial` to `peak` in `warmup` updates, then falls as 1 / sqrt(t).
//!
//! **Source.** fairseq's inverse_sqrt with the `--warmup-init-lr 1e-07` of its recipes. fairseq makes
//! update t with the rate of t - 1, so its first one has `initial`.
struct InverseSquareRoot {
  double peak;            //!< the highest rate
  index_t warmup = 4000;  //!< updates in which the rate rises
  double initial = 1e-7;  //!< before the first update

  //! The rate of an update.
  double operator()(index_t update) const {
    const auto t = static_cast<double>(update);
    const auto w = static_cast<double>(warmup);
    if (update < warmup) return initial + t * (peak - initial) / w;
    return warmup < 1 ? peak / std::sqrt(t) : peak * std::sqrt(w / t);
  }
};

//! rate * gamma^(updates done / step_size): PyTorch's StepLR, counted in updates.
struct StepDecay {
  double rate;         //!< of the first updates
  index_t step_size;   //!< updates between two changes
  double gamma = 0.1;  //!< multiplies the rate at each

  //! The rate of an update. **Errors.** ArgumentError unless step_size > 0.
  double operator()(index_t update) const {
    if (step_size < 1) throw ArgumentError(text("StepDecay: a step size of ", step_size));
    return rate * std::pow(gamma, static_cast<double>((update - 1) / step_size));
  }
};

static_assert(RateSchedule<Constant>);
static_assert(RateSchedule<Noam>);
static_assert(RateSchedule<InverseSquareRoot>);
static_assert(RateSchedule<StepDecay>);

}  // namespace weft::optim
