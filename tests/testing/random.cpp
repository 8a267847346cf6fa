// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/random.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

namespace random_tests {

using namespace weft;
using namespace weft::testing;

TEST_CASE("random values are those of the seed, in their range") {
  const auto values = random_values(10000, 5, -1.0f, 3.0f);
  CHECK(values == random_values(10000, 5, -1.0f, 3.0f));
  CHECK(values != random_values(10000, 6, -1.0f, 3.0f));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK((*low >= -1.0f && *low < -0.99f && *high > 2.99f && *high < 3.0f));
  // The mean is 1 with a deviation of 4 / sqrt(12 * 10000).
  CHECK(std::accumulate(values.begin(), values.end(), 0.0) / 10000 == Approx(1.0).margin(0.06));
  // The first output of std::mt19937(5489) is 3499211612, as the standard has it.
  CHECK(random_values(1, 5489, 0.0f, 1.0f)[0] == static_cast<float>(3499211612u >> 8) * 0x1p-24f);
}

TEST_CASE("an output starts as NaN") {
  Cpu device;
  const auto values = to_host(nan_tensor(device, {3, 7}));
  CHECK(values.size() == 21);
  CHECK(std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); }));
}

}  // namespace random_tests
