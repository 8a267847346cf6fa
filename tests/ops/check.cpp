// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/check.hpp>

#include <catch2/catch.hpp>
#include <string>

#include "../message_of.hpp"

namespace check_tests {

using namespace weft;
using namespace weft::testing;

TEST_CASE("a shape that is not as it should be is reported with both, and where it was noticed") {
  ops::detail::expect_shape("add", "x", {2, 3}, {2, 3});
  try {
    ops::detail::expect_shape("add", "x", {2, 3}, {3, 2});
    FAIL("nothing was reported");
  } catch (const ShapeError& error) {
    CHECK(error.message() == "add: x is (2, 3), should be (3, 2)");
    CHECK(std::string(error.what()).find("check.cpp:") != std::string::npos);
  }
}

TEST_CASE("rows that should follow each other have nothing between them") {
  const float numbers[12] = {};
  const AnyView<const void> close(numbers, {2, 3}), apart(numbers, {2, 3}, 4);
  CHECK_NOTHROW(ops::detail::expect_shape("add", "x", close, {2, 3}));
  CHECK_NOTHROW(ops::detail::expect_no_gaps("add", "x", AnyView<const void>(numbers, {1, 3}, 4)));
  CHECK(message_of<ShapeError>([&] {
          ops::detail::expect_shape("add", "x", apart, {2, 3});
        }) ==
        "add: x is (2, 3) with rows that are 4 elements apart, should have none between them");
}

}  // namespace check_tests
