// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Where a run is in its data.
#pragma once

#include <weft/core/index.hpp>

namespace weft::data {

//! A place in the endless sequence of batches; what a saved state keeps.
struct BatchPosition {
  index_t epoch = 0;  //!< from 0
  index_t batch = 0;  //!< Of the epoch.

  friend bool operator==(const BatchPosition&, const BatchPosition&) = default;
};

}  // namespace weft::data
