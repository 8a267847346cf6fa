// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/check_same.hpp>

#include <weft/comm/launch.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace check_same_tests {

using namespace weft;
using namespace weft::comm;

namespace {

//! What each rank was told, with these facts on each.
std::vector<std::string> told(const std::vector<Facts>& facts) {
  std::vector<std::string> messages(facts.size());
  launch_threads(static_cast<int>(facts.size()), Timeout(20.0),
                 [&](ThreadCommunicator& communicator) {
                   const auto rank = static_cast<std::size_t>(communicator.rank());
                   try {
                     check_same(communicator, facts[rank]);
                   } catch (const RanksDiffer& error) {
                     messages[rank] = error.message();
                   }
                 });
  return messages;
}

}  // namespace

TEST_CASE("ranks with the same facts go on") {
  const Facts facts{{"lanes", "2"}, {"seed", ""}};
  CHECK(told({facts, facts, facts}) == std::vector<std::string>(3));
  CHECK(told({{}, {}}) == std::vector<std::string>(2));
}

TEST_CASE("the first fact that differs is told on every rank") {
  const Facts two{{"seed", "1"}, {"lanes", "2"}, {"clip", "0"}};
  const Facts four{{"seed", "1"}, {"lanes", "4"}, {"clip", "1"}};
  CHECK(told({two, two, four}) ==
        std::vector<std::string>(3, "the ranks differ: rank 0 has lanes 2, rank 2 has lanes 4"));
  CHECK(
      told({two, {{"seed", "1"}, {"lanes", "2"}}}) ==
      std::vector<std::string>(2, "the ranks differ: rank 0 has clip 0, rank 1 has nothing more"));
  CHECK(told({{}, {{"seed", "a longer one"}}}) ==
        std::vector<std::string>(
            2, "the ranks differ: rank 0 has nothing more, rank 1 has seed a longer one"));
}

}  // namespace check_same_tests
