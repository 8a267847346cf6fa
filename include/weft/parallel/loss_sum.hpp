// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A loss as a sum and the count that it will be divided by.
#pragma once

#include <weft/core/sum_count.hpp>

namespace weft::parallel {

//! The loss of some labels, to be added to that of others before anything is divided.
struct LossSum {
  Sum<of::Loss> loss;        //!< in nats, smoothed as the criterion does
  Count<of::Tokens> tokens;  //!< labels that count

  //! Adds that of other labels.
  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    tokens += other.tokens;
    return *this;
  }
};

}  // namespace weft::parallel
