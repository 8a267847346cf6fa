// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/tree_pairs.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace tree_pairs_tests {

using namespace weft;

namespace {

//! The order in which the tree adds `lanes` lanes, as brackets.
std::string tree(index_t lanes) {
  std::vector<std::string> sums;
  for (index_t lane = 0; lane < lanes; ++lane) sums.push_back(std::to_string(lane));
  const auto at = [&](index_t lane) -> std::string& {
    return sums[static_cast<std::size_t>(lane)];
  };
  for_tree_pairs(
      lanes, [](index_t) { return true; },
      [&](index_t left, index_t right) { at(left) = "(" + at(left) + at(right) + ")"; });
  return sums[0];
}

}  // namespace

TEST_CASE("the tree over lanes is balanced and depends on their number alone") {
  CHECK(tree(1) == "0");
  CHECK(tree(2) == "(01)");
  CHECK(tree(3) == "((01)2)");
  CHECK(tree(4) == "((01)(23))");
  CHECK(tree(5) == "(((01)(23))4)");
  CHECK(tree(6) == "(((01)(23))(45))");
  CHECK(tree(8) == "(((01)(23))((45)(67)))");
}

}  // namespace tree_pairs_tests
