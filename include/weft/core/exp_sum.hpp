// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a softmax needs to know of a row.
#pragma once

#include <weft/core/version.hpp>

namespace weft {

//! Of all numbers of a row.
struct ExpSum {
  float largest;  //!< minus infinity if there are none
  float exps;     //!< the sum of exp(number - largest)
  float sum;      //!< that of the numbers
};

}  // namespace weft
