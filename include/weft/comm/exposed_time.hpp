// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Communication that no work hid.
#pragma once

#include <utility>

#include <weft/core/clock.hpp>
#include <weft/core/index.hpp>
#include <weft/core/trace.hpp>

namespace weft::comm {

//! Waits for transfers, and keeps the time that it took.
class ExposedTime {
 public:
  //! Waits for a transfer. **Errors.** As its `wait`.
  //! `row`, `what` and `number` name the wait in a trace: see TraceSpan.
  template <class Transfer, class Row>
  void wait(Transfer& transfer, const Row& row, const char* what, index_t number = -1) {
    const TraceSpan span(row, what, number);
    const double begin = monotonic_seconds();
    transfer.wait();
    seconds_ += monotonic_seconds() - begin;
  }

  //! The seconds since the last `take`.
  [[nodiscard]] double seconds() const { return seconds_; }

  //! The seconds since the last call.
  [[nodiscard]] double take() { return std::exchange(seconds_, 0.0); }

 private:
  double seconds_ = 0.0;
};

}  // namespace weft::comm
