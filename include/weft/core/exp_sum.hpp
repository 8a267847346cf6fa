// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a softmax needs to know of a row.
#pragma once

#include <weft/core/host_device.hpp>
#include <weft/core/index.hpp>
#include <weft/core/simd.hpp>

namespace weft {

//! Of all numbers of a row.
struct ExpSum {
  float largest;  //!< minus infinity if there are none
  float exps;     //!< the sum of exp(number - largest)
  float sum;      //!< that of the numbers
};

namespace detail {

//! The exponentials of `f(columns)` of a row, less their largest, for lanes that keep none of them:
//! what is written is found again.
template <class Lanes, class F>
struct ExpsFoundAgain {
  Lanes lanes;
  index_t n;
  F f;
  ExpSum all;  //!< of the row

  //! `y` at each pack of columns becomes `use(factor * exponentials)`. It may be what `f` reads:
  //! lanes wait until all have read it.
  template <class Y, class Use>
  WEFT_HOST_DEVICE void write(Y y, float factor, Use use) const {
    lanes.wait();
    lanes.write(n, y, [&](auto c) { return use(simd::exp(f(c) - all.largest) * factor); });
  }
};

}  // namespace detail

}  // namespace weft
