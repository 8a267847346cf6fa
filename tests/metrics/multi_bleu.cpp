// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/metrics/multi_bleu.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "../message_of.hpp"

namespace multi_bleu_tests {

using namespace weft;
using namespace weft::metrics;
using weft::testing::message_of;
using Lines = std::vector<std::string>;

TEST_CASE("multi_bleu of a sentence computed by hand") {
  // 4 of 5 words, 3 of 4 pairs, 2 of 3 triples and 1 of 2 quadruples: their product is 1/5.
  const Lines hypothesis = {"a b c d e"}, reference = {"a b c d f g"};
  const auto bleu = multi_bleu(hypothesis, reference);
  CHECK(bleu.score == Approx(100 * std::exp(1 - 6. / 5) * std::pow(0.2, 0.25)).epsilon(1e-12));
  CHECK(to_multi_bleu_text(bleu) ==
        "BLEU = 54.75, 80.0/75.0/66.7/50.0 (BP=0.819, ratio=0.833, hyp_len=5, ref_len=6)");
}

TEST_CASE("multi_bleu is 0 if an order has no match, and says how much the others have") {
  const Lines hypothesis = {"a b c d e"}, reference = {"a b c x d e"};
  CHECK(to_multi_bleu_text(multi_bleu(hypothesis, reference)) ==
        "BLEU = 0.00, 100.0/75.0/33.3/0.0 (BP=0.819, ratio=0.833, hyp_len=5, ref_len=6)");
}

TEST_CASE("multi_bleu takes text as it is tokenised, in bytes") {
  // 13a would make the point a token; Python would also split at the no-break space.
  const Lines hypothesis = {"one.\ttwo\xC2\xA0three four\r", "caf\xE9"};
  const auto bleu = multi_bleu(hypothesis, hypothesis);
  CHECK(bleu.hypothesis_length == 4);
  CHECK(bleu.precisions[0] == 100);
}

TEST_CASE("multi_bleu takes the most matches and the nearest length of several references") {
  const Lines hypothesis = {"a a b c d"};
  const std::vector<Lines> references = {{"a a x"}, {"b c d a e f g"}, {"y b c d"}};
  const auto bleu = multi_bleu(hypothesis, references);
  CHECK(bleu.precisions[0] == 100);
  CHECK(bleu.precisions[1] == 75);  // all but "a b"
  CHECK(bleu.reference_length == 4);
}

TEST_CASE("multi_bleu without a token in the references prints the script's line of zeros") {
  const Lines hypothesis = {"a"}, reference = {""};
  CHECK(to_multi_bleu_text(multi_bleu(hypothesis, reference)) ==
        "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)");
}

TEST_CASE("multi_bleu without a token in the hypotheses is 0, not a division by zero") {
  const Lines hypothesis = {""}, reference = {"a b"};
  CHECK(to_multi_bleu_text(multi_bleu(hypothesis, reference)) ==
        "BLEU = 0.00, 0.0/0.0/0.0/0.0 (BP=0.000, ratio=0.000, hyp_len=0, ref_len=2)");
}

TEST_CASE("multi_bleu refuses different numbers of lines and no lines") {
  const Lines none, one = {"a"}, two = {"a", "b"};
  CHECK(message_of<DataError>([&] { return multi_bleu(one, two); }) ==
        "bleu: 1 lines of hypotheses, but 2 of reference 1");
  CHECK_THROWS_AS(multi_bleu(none, none), DataError);
}

}  // namespace multi_bleu_tests
