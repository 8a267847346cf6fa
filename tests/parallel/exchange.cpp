// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/exchange.hpp>

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

namespace exchange_tests {

using namespace weft;
using namespace weft::parallel;

TEST_CASE(
    "in canonical order a rank holds the sums that the tree does not join, in fast order one") {
  using Sums = std::vector<index_t>;
  const SumsOfRanks canonical(Order::canonical, 5, 2), fast(Order::fast, 5, 2);
  CHECK(canonical.lanes_of(1) == Range{2, 5});
  CHECK(canonical.count() == 5);
  CHECK(canonical.of(0) == Sums{0});
  CHECK(canonical.of(1) == Sums{2, 4});
  CHECK(canonical.lane(1, 4) == 4);
  CHECK(fast.count() == 2);
  CHECK(fast.of(1) == Sums{1});
  CHECK(fast.lane(1, 1) == 2);
}

TEST_CASE("a rank without lanes holds nothing") {
  for (const Order order : {Order::canonical, Order::fast}) {
    const SumsOfRanks sums(order, 2, 5);
    std::vector<std::pair<int, index_t>> others;
    sums.for_others(2, [&](int peer, index_t sum) { others.emplace_back(peer, sum); });
    index_t held = 0;
    for (int rank = 0; rank < 5; ++rank) held += std::ssize(sums.of(rank));
    CHECK(held == 2);
    CHECK(std::ssize(others) == 2 - std::ssize(sums.of(2)));
  }
}

}  // namespace exchange_tests
