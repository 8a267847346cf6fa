// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Clipping by the global norm.
#pragma once

#include <weft/core/host_device.hpp>

namespace weft::optim {

//! What a gradient of norm `norm` is multiplied by so that its norm is at most `limit`; 1 if
//! `limit` is 0.
//!
//! **Source.** PyTorch's clip_grad_norm_: min(1, limit / (norm + 1e-6)).
WEFT_HOST_DEVICE constexpr double clip_factor(double norm, double limit) {
  if (limit <= 0.0) return 1.0;
  const double factor = limit / (norm + 1e-6);
  return factor < 1.0 ? factor : 1.0;
}

}  // namespace weft::optim
