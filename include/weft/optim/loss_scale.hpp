// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What gradients are multiplied by while they are computed, so that none vanishes in
//! Float16.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft::optim {

//! Losses are scaled dynamically: by as much as gradients bear without becoming infinite.
//!
//! The scale doubles after `growth_interval` updates in a row, and each update whose gradient is
//! not finite is left out and halves it. It stays a power of two, from 2^-32 to 2^32, so that it
//! changes no bit of what is not rounded to Float16.
//!
//! It multiplies the gradient of the *sum* of losses, which is larger than that of the mean by the
//! number of tokens: some of the first updates may be left out until the scale fits.
//!
//! **Source.** torch.amp.GradScaler, with its defaults; Micikevicius et al. 2018.
struct LossScaling {
  double initial = 65536.0;        //!< the first scale
  index_t growth_interval = 2000;  //!< updates

  //! Whether a scale can be that: a power of two from 2^-32 to 2^32.
  [[nodiscard]] static bool allows(double scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5 && scale >= 0x1p-32 && scale <= 0x1p32;
  }

  //! **Errors.** ArgumentError unless it allows `initial`, and growth_interval > 0.
  void check() const {
    if (allows(initial) && growth_interval > 0) return;
    throw ArgumentError(text("loss scaling: ", to_text(*this),
                             "; needs a power of two from 2^-32 "
                             "to 2^32, and an update"));
  }

  friend std::string to_text(const LossScaling& scaling) {
    return text(scaling.initial, " at first, doubled after ", scaling.growth_interval, " updates");
  }

  friend bool operator==(const LossScaling&, const LossScaling&) = default;
};

//! The scale of losses, from update to update.
class LossScale {
 public:
  //! 1, for ever.
  LossScale() = default;
  //! What `scaling` begins with.
  explicit LossScale(const LossScaling& scaling) : scaling_(scaling), value_(scaling.initial) {}

  //! Whether it changes.
  [[nodiscard]] bool is_dynamic() const { return scaling_.has_value(); }
  //! What the gradient of a loss is multiplied by.
  [[nodiscard]] double value() const { return value_; }
  //! Updates in a row since it changed.
  [[nodiscard]] index_t good_updates() const { return good_updates_; }

  //! An update's gradient was finite or not.
  void after_gradient(bool is_finite) {
    if (!scaling_) return;
    if (!is_finite) {
      set(value_ / 2.0, 0);
    } else if (good_updates_ + 1 < scaling_->growth_interval) {
      ++good_updates_;
    } else {
      set(value_ * 2.0, 0);
    }
  }

  //! As a saved state says; nothing unless it is dynamic.
  void set(double value, index_t good_updates) {
    if (!scaling_) return;
    value_ = std::clamp(value, 0x1p-32, 0x1p32);
    good_updates_ = good_updates;
  }

 private:
  std::optional<LossScaling> scaling_;
  double value_ = 1.0;
  index_t good_updates_ = 0;
};

}  // namespace weft::optim
