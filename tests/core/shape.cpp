// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/shape.hpp>

#include <catch2/catch.hpp>

#include "../message_of.hpp"

namespace shape_tests {

using namespace weft;
using weft::testing::message_of;

TEST_CASE("a shape is seen as rows of columns, whatever its rank") {
  const Shape number;
  CHECK((number.rank() == 0 && number.size() == 1 && number.rows() == 1 && number.columns() == 1));
  const Shape vector{5};
  CHECK((vector.rank() == 1 && vector.size() == 5 && vector.rows() == 1 && vector.columns() == 5));
  const Shape four{2, 3, 4, 5};
  CHECK((four.rank() == 4 && four.size() == 120 && four.rows() == 24 && four.columns() == 5));
  CHECK((four[0] == 2 && four[3] == 5));
}

TEST_CASE("an array without rows or without columns has no elements") {
  CHECK((Shape{0, 7}.size() == 0 && Shape{0, 7}.rows() == 0 && Shape{0, 7}.columns() == 7));
  CHECK((Shape{7, 0}.size() == 0 && Shape{7, 0}.rows() == 7 && Shape{7, 0}.columns() == 0));
}

TEST_CASE("shapes are equal if rank and extents are") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{2} != Shape{2, 0});
  CHECK(Shape{} != Shape{1});
}

TEST_CASE("a shape with another first extent keeps the others") {
  CHECK(Shape{2, 3, 4}.with_first(7) == Shape{7, 3, 4});
  CHECK(Shape{5}.with_first(0) == Shape{0});
  CHECK_THROWS_AS(Shape{}.with_first(1), ShapeError);
}

TEST_CASE("a shape reads as its extents") {
  CHECK(text(Shape{2, 3}, " ", Shape{4}, " ", Shape{}) == "(2, 3) (4) ()");
}

TEST_CASE("five extents or a negative one are refused") {
  CHECK(message_of<ShapeError>([] { return Shape{1, 2, 3, 4, 5}; }) == "Shape: rank 5 > 4");
  CHECK(message_of<ShapeError>([] { return Shape{2, -3}; }) == "Shape: extent -3 is negative");
}

TEST_CASE("more elements than memory holds are refused, also where their number overflows") {
  constexpr index_t million = 1'000'000, much = index_t{1} << 31;
  CHECK(Shape{million, million}.size() == million * million);
  CHECK(message_of<ShapeError>([] {
          return Shape{much, much};
        }) == "Shape: (2147483648, 2147483648) has more elements than memory holds");
  CHECK_THROWS_AS((Shape{much, much, much}), ShapeError);  // 2^93, which would be 0 elements
  CHECK_THROWS_AS((Shape{2, much}.with_first(much)), ShapeError);
  CHECK(Shape{much, 0}.size() == 0);
  CHECK_THROWS_AS((Shape{much, much, 0}), ShapeError);  // rows of nothing
}

}  // namespace shape_tests
