// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/bucket_plan.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <utility>
#include <vector>

namespace bucket_plan_tests {

using namespace weft;
using namespace weft::parallel;

namespace {

constexpr index_t block = ops::block_size;
using Slots = std::array<std::pair<index_t, index_t>, 4>;

//! Three parameters, and a further use of the first behind them.
constexpr Slots slots{
    {{0, 3 * block}, {3 * block, 10}, {3 * block + 10, 2 * block}, {9 * block, 3 * block}}};
constexpr std::array<nn::TiedGradient, 1> tied{{{9 * block, 0, 3 * block}}};
constexpr index_t parameters = 5 * block + 10;
constexpr BucketSizes two_blocks{2 * block * 4, block * 4};

//! Whether buckets cover every block once, from the last to the first.
constexpr bool covers(const std::vector<Bucket>& buckets, index_t blocks) {
  index_t end = blocks;
  for (const Bucket& bucket : buckets) {
    if (bucket.blocks.end != end || bucket.blocks.size() < 1) return false;
    end = bucket.blocks.begin;
  }
  return end == 0;
}

static_assert(covers(plan_buckets(parameters, slots, tied, two_blocks), 6));
static_assert(covers(plan_buckets(parameters, slots, tied), 6));
static_assert(covers(plan_buckets(1, {}, {}), 1));
static_assert(plan_buckets(0, {}, {}).empty());

}  // namespace

TEST_CASE("buckets are cut at blocks, the first of them small, and name what they wait for") {
  const std::vector<Bucket> expected{
      {{5, 6}, {2}}, {{3, 5}, {1, 2}}, {{1, 3}, {0, 3}}, {{0, 1}, {0, 3}}};
  CHECK(plan_buckets(parameters, slots, tied, two_blocks) == expected);
}

TEST_CASE("no bucket crosses a cut") {
  constexpr std::array<index_t, 3> cuts{0, 4, 4};
  const auto ranges = [&](BucketSizes sizes) {
    std::vector<Range> blocks;
    for (const auto& bucket : plan_buckets(parameters, slots, tied, sizes, cuts)) {
      blocks.push_back(bucket.blocks);
    }
    return blocks;
  };
  CHECK(ranges({}) == std::vector<Range>{{4, 6}, {0, 4}});
  CHECK(ranges(two_blocks) == std::vector<Range>{{5, 6}, {4, 5}, {2, 4}, {0, 2}});
}

TEST_CASE("a bucket has at least one block, however small it is asked to be") {
  CHECK(plan_buckets(parameters, slots, tied, {1, 1}).size() == 6);
}

}  // namespace bucket_plan_tests
