// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/unrolled.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <vector>

TEST_CASE("an unrolled loop counts in constants, in order") {
  std::vector<int> seen;
  weft::unrolled<4>([&](auto i) {
    const std::array<int, i + 1> as_long_as_i_says{};
    seen.push_back(static_cast<int>(as_long_as_i_says.size()));
  });
  CHECK(seen == std::vector<int>{1, 2, 3, 4});
  weft::unrolled<0>([&](auto) { seen.clear(); });
  CHECK(seen.size() == 4);
}
