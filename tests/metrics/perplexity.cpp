// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/metrics/perplexity.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace perplexity_tests {

using namespace weft;
using metrics::perplexity;

TEST_CASE("the perplexity of a uniform guess is the number of choices") {
  // -ln(1/50) a token, over 7 tokens
  CHECK(perplexity(Sum<of::Loss>(7 * std::log(50.0)), Count<of::Tokens>(7)) == Approx(50).epsilon(1e-12));
}

TEST_CASE("a model that is always right and sure has perplexity 1") {
  CHECK(perplexity(Sum<of::Loss>(0), Count<of::Tokens>(3)) == 1);
}

TEST_CASE("the perplexity of two parts comes from their summed losses and tokens") {
  // Probabilities 1/2, 1/2, 1/2 and 1/16: the geometric mean of 2, 2, 2, 16 is 2^(7/4).
  const Sum<of::Loss> loss = Sum<of::Loss>(3 * std::log(2.0)) + Sum<of::Loss>(std::log(16.0));
  const Count<of::Tokens> tokens = Count<of::Tokens>(3) + Count<of::Tokens>(1);
  CHECK(perplexity(loss, tokens) == Approx(std::pow(2.0, 1.75)).epsilon(1e-12));
}

TEST_CASE("a loss beyond what a double can raise e to gives infinity, NaN stays NaN") {
  CHECK(perplexity(Sum<of::Loss>(2 * 709.0), Count<of::Tokens>(2)) < 1e308);
  CHECK(std::isinf(perplexity(Sum<of::Loss>(2 * 710.0), Count<of::Tokens>(2))));
  CHECK(std::isnan(
      perplexity(Sum<of::Loss>(std::numeric_limits<double>::quiet_NaN()), Count<of::Tokens>(2))));
}

TEST_CASE("no tokens have no perplexity") {
  CHECK_THROWS_AS(perplexity(Sum<of::Loss>(0), Count<of::Tokens>(0)), DataError);
}

}  // namespace perplexity_tests
