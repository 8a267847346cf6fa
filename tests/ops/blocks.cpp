// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/blocks.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

#include <weft/device/cpu.hpp>

namespace blocks_tests {

using namespace weft;
using ops::block_count;
using ops::block_size;

namespace {

struct Block {
  index_t first, count, block;
  friend bool operator==(const Block&, const Block&) = default;
};

std::vector<Block> blocks_of(Cpu& device, index_t n, index_t begin, index_t end) {
  std::mutex mutex;
  std::vector<Block> blocks;
  ops::for_blocks(device, n, begin, end, [&](auto, index_t first, index_t count, index_t block) {
    const std::scoped_lock lock(mutex);
    blocks.push_back({first, count, block});
  });
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.first < b.first; });
  return blocks;
}

}  // namespace

TEST_CASE("as many blocks as it takes cover the parameters") {
  CHECK(block_count(0) == 0);
  CHECK(block_count(1) == 1);
  CHECK(block_count(block_size) == 1);
  CHECK(block_count(block_size + 1) == 2);
}

TEST_CASE("parameters lie in blocks, of which the last may be short") {
  const Range within{1, 2}, edge{block_size, 2 * block_size}, both{block_size - 1, block_size + 1};
  CHECK(ops::blocks_of(within) == Range{0, 1});
  CHECK(ops::blocks_of(edge) == Range{1, 2});
  CHECK(ops::blocks_of(both) == Range{0, 2});
  CHECK(ops::parameters_of({0, 1}, block_size + 7) == Range{0, block_size});
  CHECK(ops::parameters_of({1, 2}, block_size + 7) == Range{block_size, block_size + 7});
  CHECK(ops::parameters_of({0, 2}, block_size + 7) == Range{0, block_size + 7});
}

TEST_CASE("blocks are whole but for the last, the same on any team") {
  for (const int threads : {1, 2, 3}) {
    Cpu device(threads);
    const index_t n = 4 * block_size + 5;
    CHECK(blocks_of(device, n, 0, block_count(n)) ==
          std::vector<Block>{{0, block_size, 0},
                             {block_size, block_size, 1},
                             {2 * block_size, block_size, 2},
                             {3 * block_size, block_size, 3},
                             {4 * block_size, 5, 4}});
    CHECK(blocks_of(device, block_size, 0, 1) == std::vector<Block>{{0, block_size, 0}});
    CHECK(blocks_of(device, 0, 0, 0).empty());
  }
}

TEST_CASE("a shard visits its own blocks, by their numbers in the whole") {
  Cpu device;
  const index_t n = 4 * block_size + 5;
  CHECK(blocks_of(device, n, 1, 3) == std::vector<Block>{{block_size, block_size, 1},
                                                         {2 * block_size, block_size, 2}});
  CHECK(blocks_of(device, n, 4, 5) == std::vector<Block>{{4 * block_size, 5, 4}});
  CHECK(blocks_of(device, n, 3, 3).empty());
}

}  // namespace blocks_tests
