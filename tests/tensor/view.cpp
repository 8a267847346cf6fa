// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/tensor/view.hpp>

#include <catch2/catch.hpp>
#include <type_traits>

namespace view_tests {

using namespace weft;

TEST_CASE("a view finds the rows of an array of any rank") {
  float values[24];
  const View<float> view(values, {2, 3, 4});
  CHECK((view.size() == 24 && view.rows() == 6 && view.columns() == 4));
  CHECK(view.row(0) == values);
  CHECK(view.row(5) == values + 20);
}

TEST_CASE("a view may lose the right to write, never gain it") {
  float values[6];
  const View<const float> view = View<float>(values, {2, 3});
  CHECK(view.data == values);
  CHECK(view.shape == Shape{2, 3});
  CHECK(std::is_convertible_v<View<float>, View<const float>>);
  CHECK_FALSE(std::is_convertible_v<View<const float>, View<float>>);
  CHECK_FALSE(std::is_convertible_v<View<float>, View<const int>>);
}

TEST_CASE("a view of nothing is null") {
  CHECK(View<float>().data == nullptr);
}

}  // namespace view_tests
