// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/sum_count.hpp>

#include <catch2/catch.hpp>
#include <type_traits>

namespace sum_count_tests {

using namespace weft;

template <class Left, class Right>
concept Adds = requires(Left left, Right right) {
  left += right;
};

template <class Left, class Right>
concept Divides = requires(Left left, Right right) {
  left / right;
};

TEST_CASE("the mean over uneven parts is the mean over all their tokens, not that of their means") {
  // 3 tokens of loss 2 and 1 token of loss 6: the mean of the means would be 4.
  constexpr Sum<of::Loss> loss = Sum<of::Loss>(6) + Sum<of::Loss>(6);
  constexpr Count<of::Tokens> tokens = Count<of::Tokens>(3) + Count<of::Tokens>(1);
  STATIC_REQUIRE(mean(loss, tokens).value() == 3);
}

TEST_CASE("a part without tokens changes nothing") {
  Sum<of::Loss> loss(6);
  Count<of::Tokens> tokens(3);
  loss += Sum<of::Loss>();
  tokens += Count<of::Tokens>();
  CHECK(mean(loss, tokens).value() == 2);
}

TEST_CASE("a mean over nothing is an error that gives the sum and the count") {
  CHECK_THROWS_AS(mean(Sum<of::Loss>(0.5), Count<of::Tokens>(0)), DataError);
  CHECK_THROWS_WITH(mean(Sum<of::Loss>(0.5), Count<of::Tokens>(-3)),
                    Catch::Contains("a sum of 0.5 over a count of -3"));
}

TEST_CASE("sums and counts add to their own kind only and divide only by mean") {
  STATIC_REQUIRE(Adds<Sum<of::Loss>, Sum<of::Loss>>);
  STATIC_REQUIRE(Adds<Count<of::Tokens>, Count<of::Tokens>>);
  STATIC_REQUIRE_FALSE(Adds<Count<of::Tokens>, Count<of::Sentences>>);
  STATIC_REQUIRE_FALSE(Adds<Sum<of::Loss>, Count<of::Tokens>>);
  STATIC_REQUIRE_FALSE(Adds<Sum<of::Loss>, double>);
  STATIC_REQUIRE_FALSE(Adds<Sum<of::Loss>, Mean<of::Loss, of::Tokens>>);
  STATIC_REQUIRE_FALSE(Divides<Sum<of::Loss>, Count<of::Tokens>>);
  STATIC_REQUIRE_FALSE(Divides<Mean<of::Loss, of::Tokens>, index_t>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Sum<of::Loss>, Mean<of::Loss, of::Tokens>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Mean<of::Loss, of::Tokens>, double>);
}

TEST_CASE("means compare by value") {
  CHECK(mean(Sum<of::Loss>(1), Count<of::Tokens>(2)) < mean(Sum<of::Loss>(6), Count<of::Tokens>(3)));
  CHECK(mean(Sum<of::Loss>(1), Count<of::Tokens>(2)) == mean(Sum<of::Loss>(2), Count<of::Tokens>(4)));
}

}  // namespace sum_count_tests
