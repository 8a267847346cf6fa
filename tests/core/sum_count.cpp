// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/sum_count.hpp>

#include <catch2/catch.hpp>
#include <type_traits>

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
  constexpr Sum<Loss> loss = Sum<Loss>(6) + Sum<Loss>(6);
  constexpr Count<Tokens> tokens = Count<Tokens>(3) + Count<Tokens>(1);
  STATIC_REQUIRE(mean(loss, tokens).value() == 3);
}

TEST_CASE("a part without tokens changes nothing") {
  Sum<Loss> loss(6);
  Count<Tokens> tokens(3);
  loss += Sum<Loss>();
  tokens += Count<Tokens>();
  CHECK(mean(loss, tokens).value() == 2);
}

TEST_CASE("a mean over nothing is an error that gives the sum and the count") {
  CHECK_THROWS_AS(mean(Sum<Loss>(0.5), Count<Tokens>(0)), DataError);
  CHECK_THROWS_WITH(mean(Sum<Loss>(0.5), Count<Tokens>(-3)),
                    Catch::Contains("a sum of 0.5 over a count of -3"));
}

TEST_CASE("sums and counts add to their own kind only and divide only by mean") {
  STATIC_REQUIRE(Adds<Sum<Loss>, Sum<Loss>>);
  STATIC_REQUIRE(Adds<Count<Tokens>, Count<Tokens>>);
  STATIC_REQUIRE_FALSE(Adds<Count<Tokens>, Count<Sentences>>);
  STATIC_REQUIRE_FALSE(Adds<Sum<Loss>, Count<Tokens>>);
  STATIC_REQUIRE_FALSE(Adds<Sum<Loss>, double>);
  STATIC_REQUIRE_FALSE(Adds<Sum<Loss>, Mean<Loss, Tokens>>);
  STATIC_REQUIRE_FALSE(Divides<Sum<Loss>, Count<Tokens>>);
  STATIC_REQUIRE_FALSE(Divides<Mean<Loss, Tokens>, index_t>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Sum<Loss>, Mean<Loss, Tokens>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Mean<Loss, Tokens>, double>);
}

TEST_CASE("means compare by value") {
  CHECK(mean(Sum<Loss>(1), Count<Tokens>(2)) < mean(Sum<Loss>(6), Count<Tokens>(3)));
  CHECK(mean(Sum<Loss>(1), Count<Tokens>(2)) == mean(Sum<Loss>(2), Count<Tokens>(4)));
}
