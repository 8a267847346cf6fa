// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/purpose.hpp>

#include <catch2/catch.hpp>

#include <string>

namespace purpose_tests {

using namespace weft;
using namespace weft::comm;

TEST_CASE("a purpose is shown in words") {
  CHECK(to_text(Purpose{"all_reduce", "bucket", 4, 91}) == "all_reduce of bucket 4, update 91");
  CHECK(to_text(Purpose{"broadcast", "values"}) == "broadcast of values");
  CHECK(to_text(Purpose{"barrier"}) == "barrier");
}

TEST_CASE("purposes are equal by what they say") {
  const std::string copy = "all_reduce";  // another address
  CHECK(Purpose{copy.c_str(), "bucket", 1, 2} == Purpose{"all_reduce", "bucket", 1, 2});
  CHECK_FALSE(Purpose{"all_reduce", "bucket", 1, 2} == Purpose{"all_reduce", "bucket", 1, 3});
  CHECK_FALSE(Purpose{"all_reduce", "bucket", 1, 2} == Purpose{"all_reduce", nullptr, 1, 2});
}

}  // namespace purpose_tests
