// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/parallel/shard_plan.hpp>

#include <catch2/catch.hpp>

#include <vector>

namespace shard_plan_tests {

using namespace weft;
using namespace weft::parallel;

namespace {

constexpr index_t block = ops::block_size;
const std::vector<Bucket> buckets{{{5, 6}}, {{2, 5}}, {{0, 2}}};
constexpr index_t parameters = 5 * block + 10;

}  // namespace

TEST_CASE("every parameter of a bucket has one owner, in whole blocks") {
  const ShardPlan plan(buckets, parameters, 2);
  CHECK(plan.piece(0, 0).size() == 0);
  CHECK(plan.piece(0, 1) == Range{5 * block, parameters});
  CHECK(plan.piece(1, 0) == Range{3 * block, 5 * block});
  CHECK(plan.piece(1, 1) == Range{2 * block, 3 * block});
  CHECK(plan.blocks(2, 1) == Range{1, 2});
}

TEST_CASE("what a rank owns is in ascending order, and all of it is owned once") {
  for (const int ranks : {1, 2, 3, 8}) {
    const ShardPlan plan(buckets, parameters, ranks);
    std::vector<int> owners(static_cast<std::size_t>(parameters));
    for (int rank = 0; rank < ranks; ++rank) {
      index_t before = -1;
      for (const Range piece : plan.owned(rank)) {
        CHECK(piece.begin > before);
        before = piece.begin;
        for (index_t i = piece.begin; i < piece.end; ++i) ++owners[static_cast<std::size_t>(i)];
      }
    }
    CHECK(owners == std::vector<int>(owners.size(), 1));
  }
}

TEST_CASE("where buckets cannot be cut evenly, ranks own as much as each other all the same") {
  for (const int ranks : {2, 3, 5}) {
    std::vector<Bucket> uneven;
    for (index_t b = 0; b < 30; ++b) uneven.push_back({{4 * b, 4 * b + 4}});
    const ShardPlan plan(uneven, 120 * block, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      index_t owned = 0;
      for (const Range piece : plan.owned(rank)) owned += piece.size();
      CAPTURE(ranks, rank);
      CHECK(owned == 120 * block / ranks);
    }
  }
}

}  // namespace shard_plan_tests
