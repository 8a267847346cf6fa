// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file How the learning rate changes with the number of updates.
//!
//! A schedule is a function of the update 1, 2, ...: it holds no state, so a resumed run finds the
//! same rates.
#pragma once

#include <cmath>
#include <concepts>
#include <numbers>

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

namespace detail {

//! How far an update is from the end of the warm-up to the last update, 0 to 1.
//!
//! **Errors.** ArgumentError unless 0 <= warmup < updates.
inline double decay_progress(const char* schedule, index_t update, index_t warmup,
                             index_t updates) {
  if (warmup < 0 || warmup >= updates) {
    throw ArgumentError(text(schedule, ": ", warmup, " updates of warm-up, of ", updates,
                             " in all: needs 0 or more, and fewer than all"));
  }
  if (update <= warmup) return 0.0;
  return update >= updates
             ? 1.0
             : static_cast<double>(update - warmup) / static_cast<double>(updates - warmup);
}

//! The share of the highest rate that a warm-up has come to.
inline double warmup_share(index_t update, index_t warmup) {
  return update < warmup ? static_cast<double>(update) / static_cast<double>(warmup) : 1.0;
}

}  // namespace detail

//! Rises linearly to `peak` in `warmup` updates, then falls linearly to `last` in update `updates`,
//! and stays there.
//!
//! **Source.** transformers' get_linear_schedule_with_warmup, which makes update t with the rate of
//! t - 1, so its first one changes nothing; PyTorch's LinearLR.
struct LinearDecay {
  double peak;         //!< the highest rate
  index_t updates;     //!< of the run, those of the warm-up included
  index_t warmup = 0;  //!< updates in which the rate rises
  double last = 0.0;   //!< the rate of the last update, and of any after it

  //! The rate of an update. **Errors.** ArgumentError unless 0 <= warmup < updates.
  double operator()(index_t update) const {
    const double fallen = detail::decay_progress("LinearDecay", update, warmup, updates);
    return detail::warmup_share(update, warmup) * std::lerp(peak, last, fallen);
  }
};

//! The same, but it falls along half a cosine: slowly at first, and slowly at the end.
//!
//! **Source.** Loshchilov and Hutter 2017, "SGDR", eq. 5 without restarts; PyTorch's
//! CosineAnnealingLR, transformers' get_cosine_schedule_with_warmup. Both make update t with the
//! rate of t - 1.
struct CosineDecay {
  double peak;         //!< the highest rate
  index_t updates;     //!< of the run, those of the warm-up included
  index_t warmup = 0;  //!< updates in which the rate rises
  double last = 0.0;   //!< the rate of the last update, and of any after it

  //! The rate of an update. **Errors.** ArgumentError unless 0 <= warmup < updates.
  double operator()(index_t update) const {
    const double fallen = detail::decay_progress("CosineDecay", update, warmup, updates);
    const double left = 0.5 * (1.0 + std::cos(std::numbers::pi * fallen));
    return detail::warmup_share(update, warmup) * std::lerp(last, peak, left);
  }
};

static_assert(RateSchedule<Constant>);
static_assert(RateSchedule<Noam>);
static_assert(RateSchedule<InverseSquareRoot>);
static_assert(RateSchedule<StepDecay>);
static_assert(RateSchedule<LinearDecay>);
static_assert(RateSchedule<CosineDecay>);

}  // namespace weft::optim
