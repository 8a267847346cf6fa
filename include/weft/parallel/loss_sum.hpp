// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A loss as a sum and the count that it will be divided by.
#pragma once

#include <weft/core/index.hpp>
#include <weft/core/sum_count.hpp>
#include <weft/tensor/tensor.hpp>

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

//! The losses of some rows, which a device may still be computing.
template <class D>
struct LaterLoss {
  Tensor<float, D> losses;      //!< (N), 0 where the label is ignored
  Tensor<token_t, D> ignoring;  //!< (N), the labels, or empty if none is ignored
  token_t ignored;              //!< the label that counts for nothing

  //! Their sum and count. Waits for the device.
  operator LossSum() const {
    double sum = 0.0;
    for (const float loss : to_host(losses)) sum += static_cast<double>(loss);
    index_t count = losses.size();
    if (!ignoring.empty()) {
      for (const token_t label : to_host(ignoring)) count -= label == ignored ? 1 : 0;
    }
    return {Sum<of::Loss>(sum), Count<of::Tokens>(count)};
  }
};

}  // namespace weft::parallel
