// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/check.hpp>

#include <catch2/catch.hpp>
#include <string>


using namespace weft;

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
