// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/device/lanes.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <limits>
#include <vector>

#include <weft/testing/random.hpp>

namespace lanes_tests {

using namespace weft;

namespace {

constexpr index_t sizes[] = {0, 1, 15, 16, 17, 31, 33, 512, 1000};
constexpr float infinity = std::numeric_limits<float>::infinity();

//! The columns of a pack.
std::size_t width_of(simd::Full) { return 16; }
std::size_t width_of(simd::Tail c) { return static_cast<std::size_t>(c.count); }

}  // namespace

TEST_CASE("packs cover every column once, in ascending order") {
  for (const index_t n : sizes) {
    index_t next = 0;
    CpuLanes{}.for_each(n, [&](auto c) {
      CHECK(c.first == next);
      next += static_cast<index_t>(width_of(c));
    });
    CHECK(next == n);
  }
}

TEST_CASE("a sum is sixteen running sums and then a tree") {
  for (const index_t n : sizes) {
    const auto x = testing::random_values(n, 3);
    float lane[16] = {};
    for (std::size_t i = 0; i < x.size(); ++i) lane[i % 16] += x[i];
    const auto four = [&](int i) { return (lane[i] + lane[i + 8]) + (lane[i + 4] + lane[i + 12]); };
    const float expected = (four(0) + four(2)) + (four(1) + four(3));
    CHECK(CpuLanes{}.sum(n, [&](auto c) { return simd::load(x.data(), c); }) == expected);
  }
}

TEST_CASE("lanes past the end of a row count neither in a sum nor in a maximum") {
  for (const index_t n : sizes) {
    // Past the end load gives 0, which this makes infinite.
    const auto x = testing::random_values(n, 4, 1.0f, 2.0f);
    const auto inverse = [&](auto c) { return 1.0f / simd::load(x.data(), c); };
    float largest = -infinity;
    for (const float value : x) largest = std::max(largest, 1.0f / value);
    CHECK(CpuLanes{}.sum(n, inverse) <= static_cast<float>(n));
    CHECK(CpuLanes{}.max(n, inverse) == largest);
  }
}

TEST_CASE("the maximum is found in every column, also among negative ones") {
  std::vector<float> x(37, -3.0f);
  for (float& value : x) {
    value = -1.0f;
    CHECK(CpuLanes{}.max(37, [&](auto c) { return simd::load(x.data(), c); }) == -1.0f);
    value = -3.0f;
  }
  CHECK(CpuLanes{}.max(0, [](auto) { return simd::Floats{}; }) == -infinity);
}

}  // namespace lanes_tests
