// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/range_set.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace range_set_tests {

using namespace weft;

TEST_CASE("ranges that touch or overlap become one, and are cut where numbers are taken out") {
  RangeSet set;
  CHECK(set.insert({10, 20}) == Range{10, 20});
  CHECK(set.insert({30, 40}) == Range{30, 40});
  CHECK(set.insert({20, 25}) == Range{10, 25});
  CHECK(set.insert({24, 31}) == Range{10, 40});
  CHECK(set.insert({12, 13}) == Range{10, 40});
  set.erase({15, 18});
  CHECK_FALSE(set.overlaps({15, 18}));
  CHECK(set.overlaps({14, 16}));
  CHECK(set.insert({16, 17}) == Range{16, 17});
  CHECK(set.insert({5, 5}) == Range{5, 5});
  CHECK_FALSE(set.overlaps({5, 6}));
  CHECK_FALSE(set.overlaps({12, 12}));
  set.erase({0, 100});
  CHECK(set.empty());
}

TEST_CASE("a set of ranges has the numbers that were put into it") {
  constexpr index_t n = 60;
  std::mt19937 random(1);
  RangeSet set;
  std::vector<bool> has(n);
  for (int step = 0; step < 3000; ++step) {
    const index_t begin = static_cast<index_t>(random() % n);
    const index_t end = begin + static_cast<index_t>(random()) % (n - begin + 1);
    const bool inserts = random() % 2 == 0;
    std::fill(has.begin() + begin, has.begin() + end, inserts);
    if (inserts) {
      Range joined{begin, end};
      if (begin < end) {
        while (joined.begin > 0 && has[static_cast<std::size_t>(joined.begin - 1)]) --joined.begin;
        while (joined.end < n && has[static_cast<std::size_t>(joined.end)]) ++joined.end;
      }
      REQUIRE(set.insert({begin, end}) == joined);
    } else {
      set.erase({begin, end});
    }
    for (index_t i = 0; i < n; ++i) {
      CAPTURE(step, begin, end, inserts, i);
      REQUIRE(set.overlaps({i, i + 1}) == has[static_cast<std::size_t>(i)]);
    }
    const bool any = std::find(has.begin() + begin, has.begin() + end, true) != has.begin() + end;
    REQUIRE(set.overlaps({begin, end}) == any);
  }
}

}  // namespace range_set_tests
