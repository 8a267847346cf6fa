// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Numbers, kept as the ranges that they make.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include <weft/core/chunks.hpp>
#include <weft/core/index.hpp>

namespace weft {

//! A set of numbers as disjoint ranges that do not touch.
//!
//! **Cost.** Logarithmic in the ranges, and linear in those that a call joins or cuts.
class RangeSet {
 public:
  //! Whether it has no number.
  [[nodiscard]] bool empty() const { return end_of_.empty(); }

  //! Whether it has any of these numbers.
  [[nodiscard]] bool overlaps(Range range) const {
    const auto next = end_of_.lower_bound(range.end);  // none from here on begins before the end
    return range.size() > 0 && next != end_of_.begin() && std::prev(next)->second > range.begin;
  }

  //! Adds numbers; the range that they are now part of.
  Range insert(Range range) {
    if (range.size() <= 0) return range;
    auto next = end_of_.upper_bound(range.end);
    while (next != end_of_.begin() && std::prev(next)->second >= range.begin) {
      const auto joined = std::prev(next);
      range = {std::min(range.begin, joined->first), std::max(range.end, joined->second)};
      next = end_of_.erase(joined);
    }
    end_of_.emplace(range.begin, range.end);
    return range;
  }

  //! Takes numbers out.
  void erase(Range range) {
    if (range.size() <= 0) return;
    auto next = end_of_.lower_bound(range.end);
    while (next != end_of_.begin() && std::prev(next)->second > range.begin) {
      const auto [begin, end] = *std::prev(next);
      next = end_of_.erase(std::prev(next));
      if (end > range.end) next = end_of_.emplace(range.end, end).first;
      if (begin < range.begin) {
        end_of_.emplace(begin, range.begin);
        return;  // those before end before it
      }
    }
  }

 private:
  std::map<index_t, index_t> end_of_;  // of each range, by its first number
};

}  // namespace weft
