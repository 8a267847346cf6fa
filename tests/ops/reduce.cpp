// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/reduce.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include <weft/device/cpu.hpp>
#include <weft/testing/random.hpp>

namespace reduce_tests {

using namespace weft;
using namespace weft::testing;
using ops::block_count;
using ops::block_size;

namespace {

std::vector<double> squares(Cpu& device, const std::vector<float>& x) {
  const auto n = static_cast<index_t>(x.size());
  std::vector<double> sums(static_cast<std::size_t>(block_count(n)), NAN);
  ops::sum_of_squares(device, n, 0, block_count(n), x.data(), sums.data());
  return sums;
}

}  // namespace

TEST_CASE("each block has the sum of its squares") {
  // 256 additions a lane, four of lanes and the square itself: 261 roundings of a positive sum.
  Cpu device;
  for (const index_t n : {index_t{0}, index_t{1}, index_t{17}, block_size, 2 * block_size + 15}) {
    const auto x = random_values(n, 1);
    const auto sums = squares(device, x);
    for (std::size_t block = 0; block < sums.size(); ++block) {
      double should = 0.0;
      for (std::size_t i = block * block_size; i < x.size() && i < (block + 1) * block_size; ++i) {
        should += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      CHECK(std::abs(sums[block] - should) <= 261 * 0x1p-24 * should);
    }
  }
}

TEST_CASE("sums of squares have the same bits on any team and in any shard") {
  const index_t n = 9 * block_size + 100;
  const auto x = random_values(n, 2);
  Cpu alone(1);
  const auto expected = squares(alone, x);
  for (const int threads : {2, 3}) {
    Cpu device(threads);
    CHECK(squares(device, x) == expected);
    std::vector<double> shards(expected.size(), -1.0);
    ops::sum_of_squares(device, n, 4, 10, x.data(), shards.data());
    CHECK(shards[3] == -1.0);
    ops::sum_of_squares(device, n, 0, 4, x.data(), shards.data());
    CHECK(shards == expected);
  }
}

TEST_CASE("a gradient that is not finite has a sum of squares that is not") {
  Cpu device;
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{16}, std::size_t{36}}) {
      auto x = random_values(37, 3);
      x[at] = bad;
      CHECK_FALSE(std::isfinite(squares(device, x)[0]));
    }
  }
}

TEST_CASE("gradients are added in the blocks of a shard, and nowhere else") {
  for (const int threads : {1, 3}) {
    Cpu device(threads);
    const index_t n = 3 * block_size + 21;
    const auto x = random_values(n, 4), before = random_values(n, 5);
    auto y = before;
    ops::add_blocks(device, n, 1, 4, x.data(), y.data());
    bool as_it_should_be = true;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool inside = i >= static_cast<std::size_t>(block_size);
      as_it_should_be = as_it_should_be && y[i] == (inside ? before[i] + x[i] : before[i]);
    }
    CHECK(as_it_should_be);
  }
}

TEST_CASE("numbers are added in groups of 1,024, and then the groups") {
  // In doubles 2^53 + 1 is 2^53: only the order that is promised keeps the ones of the second group.
  std::vector<double> x(2048, 0.0);
  x[0] = 9007199254740992.0;
  x[1] = 1.0;
  x[1024] = x[1025] = 1.0;
  CHECK(ops::ordered_sum(x) == 9007199254740994.0);
  CHECK(ops::ordered_sum({}) == 0.0);
  Cpu device;
  const auto groups = to_host(ops::group_sums(device, View<const double>(x.data(), {2048})));
  CHECK(groups == std::vector<double>{9007199254740992.0, 2.0});
}

}  // namespace reduce_tests
