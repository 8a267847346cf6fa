// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers for people: a fixed count of decimals.
#pragma once

#include <charconv>
#include <cmath>
#include <string>

#include <weft/core/version.hpp>

namespace weft {

//! `value` with `decimals` digits after the point, as printf's `%.*f` in the "C" locale:
//! `fixed(41.025, 1)` is "41.0", infinities and NaN are "inf", "-inf" and "nan".
//! **Shapes.** 0 <= decimals <= 17.
[[nodiscard]] inline std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";  // as `text`
  char digits[1 + 309 + 1 + 17];  // sign, integer part of the largest double, point, decimals
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals).ptr;
  return {digits, end};
}

}  // namespace weft
