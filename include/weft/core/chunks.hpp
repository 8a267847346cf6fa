// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Ranges, and how one is cut into parts.
#pragma once

#include <algorithm>
#include <vector>

#include <weft/core/error.hpp>
#include <weft/core/index.hpp>

namespace weft {

//! The numbers `begin` to `end` - 1.
struct Range {
  index_t begin = 0;  //!< the first
  index_t end = 0;    //!< one past the last

  //! How many numbers it has.
  [[nodiscard]] constexpr index_t size() const { return end - begin; }
  friend constexpr bool operator==(Range, Range) = default;
};

//! The numbers that two ranges share; of a size below 1 where they share none.
[[nodiscard]] constexpr Range intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

//! Cuts 0 to n - 1 into at most `parts` ranges of ceil(n / parts) numbers, the last one shorter:
//! PyTorch's `chunk`. There may be fewer than `parts`; of n = 0 there is one, empty.
//!
//! **Errors.** ArgumentError unless parts > 0.
[[nodiscard]] inline std::vector<Range> chunks(index_t n, index_t parts) {
  if (parts < 1) throw ArgumentError(text("chunks: ", parts, " parts, needs at least one"));
  const index_t size = (n + parts - 1) / parts;
  std::vector<Range> ranges;
  for (index_t begin = 0; begin < n; begin += size) {
    ranges.push_back({begin, begin + size < n ? begin + size : n});
  }
  if (ranges.empty()) ranges.push_back({0, 0});
  return ranges;
}

//! Part `part` of 0 to n - 1 cut into `parts` ranges whose sizes differ by one at most.
[[nodiscard]] constexpr Range share(index_t n, index_t parts, index_t part) {
  return {n * part / parts, n * (part + 1) / parts};
}

}  // namespace weft
