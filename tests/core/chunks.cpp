// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/chunks.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include "../message_of.hpp"

namespace chunks_tests {

using namespace weft;
using weft::testing::message_of;

TEST_CASE("chunks are those of PyTorch") {
  // torch.arange(n).chunk(parts)
  CHECK(chunks(10, 4) == std::vector<Range>{{0, 3}, {3, 6}, {6, 9}, {9, 10}});
  CHECK(chunks(9, 4) == std::vector<Range>{{0, 3}, {3, 6}, {6, 9}});
  CHECK(chunks(8, 4) == std::vector<Range>{{0, 2}, {2, 4}, {4, 6}, {6, 8}});
  CHECK(chunks(2, 4) == std::vector<Range>{{0, 1}, {1, 2}});
  CHECK(chunks(7, 1) == std::vector<Range>{{0, 7}});
  CHECK(chunks(0, 4) == std::vector<Range>{{0, 0}});
}

TEST_CASE("two ranges share an intersection, or less than one number") {
  STATIC_REQUIRE(intersection({0, 5}, {3, 9}) == Range{3, 5});
  STATIC_REQUIRE(intersection({3, 9}, {0, 5}) == Range{3, 5});
  STATIC_REQUIRE(intersection({0, 9}, {3, 5}) == Range{3, 5});
  STATIC_REQUIRE(intersection({0, 3}, {3, 5}).size() == 0);
  STATIC_REQUIRE(intersection({0, 3}, {4, 5}).size() < 0);
}

TEST_CASE("chunks need at least one part") {
  CHECK(message_of<ArgumentError>([] { return chunks(3, 0); }) ==
        "chunks: 0 parts, needs at least one");
  CHECK(message_of<ArgumentError>([] { return chunks(3, -2); }) ==
        "chunks: -2 parts, needs at least one");
}

TEST_CASE("shares cover a range in order and differ by one at most") {
  for (index_t n = 0; n < 40; ++n) {
    for (index_t parts = 1; parts < 12; ++parts) {
      index_t end = 0;
      for (index_t part = 0; part < parts; ++part) {
        const Range range = share(n, parts, part);
        CHECK(range.begin == end);
        CHECK((range.size() == n / parts || range.size() == n / parts + 1));
        end = range.end;
      }
      CHECK(end == n);
    }
  }
}

}  // namespace chunks_tests
