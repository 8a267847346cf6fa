// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/metrics/bleu.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../message_of.hpp"

namespace bleu_tests {

using namespace weft;
using namespace weft::metrics;
using weft::testing::message_of;

namespace {

using Lines = std::vector<std::string>;

//! What sacreBLEU made of random lines and corpora; written by tests/reference/bleu.py.
const nlohmann::json& reference_values() {
  static const auto values =
      nlohmann::json::parse(std::ifstream(WEFT_TESTS "/metrics/data/bleu.json"));
  return values;
}

Smoothing smoothing_named(const std::string& name, double value) {
  if (name == "none") return Smoothing::none();
  if (name == "floor") return Smoothing::floor(value);
  if (name == "add-k") return Smoothing::add_k(value);
  return Smoothing::exp();
}

Lines tokens_of(const AnyTokenizer& tokenize, const std::string& line) {
  const std::string tokenized = tokenize(line);
  const auto words = data::split_words(tokenized);
  return {words.begin(), words.end()};
}

BleuStatistics statistics_of(const std::array<index_t, 10>& n) {
  return {n[0], n[1], {n[2], n[3], n[4], n[5]}, {n[6], n[7], n[8], n[9]}};
}

}  // namespace

TEST_CASE("random lines have the tokens that sacreBLEU gives them") {
  for (const auto& example : reference_values()["lines"]) {
    const auto line = example["line"].get<std::string>();
    for (const auto& [name, tokens] : example["tokens"].items()) {
      INFO(name << ": " << example["line"]);
      const std::string stripped(strip_right(line));
      CHECK(tokens_of(tokenizer_named(name), stripped) == tokens.get<Lines>());
    }
  }
}

TEST_CASE("random corpora have sacreBLEU's statistics, score and text") {
  for (const auto& example : reference_values()["corpora"]) {
    INFO(example);
    const auto hypotheses = example["hypotheses"].get<Lines>();
    const auto references = example["references"].get<std::vector<Lines>>();
    const auto tokenize = tokenizer_named(example["tokenizer"].get<std::string>());
    const auto value = example["value"].is_null() ? 0 : example["value"].get<double>();
    const auto smoothing = smoothing_named(example["smoothing"], value);

    CHECK(corpus_statistics(hypotheses, references, tokenize) ==
          statistics_of(example["statistics"]));
    const auto bleu = corpus_bleu(hypotheses, references, tokenize, smoothing);
    CHECK(bleu.score == Approx(example["score"].get<double>()).margin(1e-9).epsilon(0));
    CHECK(bleu.brevity_penalty ==
          Approx(example["brevity_penalty"].get<double>()).margin(1e-12).epsilon(0));
    for (std::size_t n = 0; n < 4; ++n) {
      CHECK(bleu.precisions[n] ==
            Approx(example["precisions"][n].get<double>()).margin(1e-9).epsilon(0));
    }
    CHECK(to_text(bleu) == example["text"].get<std::string>());
  }
}

TEST_CASE("statistics of the parts of a corpus add up to those of the whole") {
  const Lines hypotheses = {"the cat sat on the mat .", "hello there", "", "a b c d e f"};
  const Lines reference = {"the cat is on the mat .", "hello there !", "x", "a b c d e"};
  const ThirteenATokenizer tokenize;
  const std::span all(hypotheses);
  BleuStatistics sum;
  for (std::size_t i = 0; i < 4; ++i) {
    const Lines part = {reference[i]};
    sum += corpus_statistics(all.subspan(i, 1), std::span(&part, 1), tokenize);
  }
  CHECK(sum == corpus_statistics(hypotheses, std::span(&reference, 1), tokenize));
  CHECK(sum.totals == std::array<index_t, 4>{15, 12, 9, 7});
}

TEST_CASE("a rank without lines has statistics of zero") {
  const Lines nothing;
  CHECK(corpus_statistics(nothing, std::span(&nothing, 1), NoneTokenizer()) == BleuStatistics());
}

TEST_CASE("a word counts as often as the reference that has most of it") {
  // Papineni's example: "the" seven times against two references that have it twice and once.
  const Lines hypothesis = {"the the the the the the the"};
  const std::vector<Lines> references = {{"the cat is on the mat"}, {"there is a cat on the mat"}};
  const auto statistics = corpus_statistics(hypothesis, references, NoneTokenizer());
  CHECK(statistics.matches == std::array<index_t, 4>{2, 0, 0, 0});
  CHECK(statistics.totals == std::array<index_t, 4>{7, 6, 5, 4});
}

TEST_CASE("of references equally near in length, the shorter counts, whatever their order") {
  const Lines hypothesis = {"a b c"};
  const Lines shorter = {"a b"}, longer = {"a b c d"}, far = {"a"};
  for (const auto& references : {std::vector{shorter, longer, far}, {longer, far, shorter}}) {
    const auto statistics = corpus_statistics(hypothesis, references, NoneTokenizer());
    CHECK(statistics.reference_length == 2);
  }
}

TEST_CASE("a corpus that equals its reference scores 100") {
  const Lines lines = {"to be or not to be", "that is the question"};
  CHECK(corpus_bleu(lines, lines).score == Approx(100).epsilon(1e-12));
}

TEST_CASE("a known corpus prints sacreBLEU's line") {
  // The line is that of BLEU.compute_bleu for the same counts.
  const auto bleu =
      bleu_score({12096, 12103, {8590, 5273, 3464, 2228}, {12096, 11095, 10094, 9094}});
  CHECK(to_text(bleu) ==
        "BLEU = 41.02 71.0/47.5/34.3/24.5 (BP = 0.999 ratio = 0.999 hyp_len = 12096 "
        "ref_len = 12103)");
}

TEST_CASE("no tokens at all score 0, not NaN") {
  const auto bleu = bleu_score({});
  CHECK(bleu.score == 0);
  CHECK(to_text(bleu) ==
        "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)");
}

TEST_CASE("without an n-gram of some order the score is 0, unless smoothing adds some") {
  const BleuStatistics three_tokens = {3, 3, {3, 2, 1, 0}, {3, 2, 1, 0}};
  CHECK(bleu_score(three_tokens).score == 0);
  CHECK(bleu_score(three_tokens, Smoothing::floor()).score == 0);
  CHECK(bleu_score(three_tokens, Smoothing::add_k()).score == Approx(100));
}

TEST_CASE("different numbers of lines are an error that gives both") {
  const Lines two = {"a", "b"}, three = {"a", "b", "c"};
  CHECK(message_of<DataError>([&] { return corpus_bleu(two, three); }) ==
        "bleu: 2 lines of hypotheses, but 3 of reference 1");
  const std::vector<Lines> references = {two, three};
  CHECK(message_of<DataError>([&] { return corpus_bleu(two, references); }) ==
        "bleu: 2 lines of hypotheses, but 3 of reference 2");
}

TEST_CASE("a corpus without lines or without references is an error") {
  const Lines nothing, one = {"a"};
  CHECK_THROWS_AS(corpus_bleu(nothing, nothing), DataError);
  CHECK_THROWS_AS(corpus_bleu(one, std::vector<Lines>()), ArgumentError);
}

TEST_CASE("a reference that is not UTF-8 is an error that names its line; a hypothesis is not") {
  const Lines fine = {"abc", "un caf\xC3\xA9 noir ici"};
  const Lines latin1 = {"abc", "un caf\xE9 noir ici"};
  CHECK(message_of<DataError>([&] { return corpus_bleu(fine, latin1); }) ==
        "bleu: reference 1, line 2: byte 6 is not UTF-8");
  for (const char* name : {"none", "char", "13a", "zh"}) {
    const double score = corpus_bleu(latin1, fine, tokenizer_named(name)).score;
    INFO(name);
    CHECK(score > 0);
    CHECK(score < 90);
  }
}

TEST_CASE("a smoothing value that is negative or not finite is an error") {
  const BleuStatistics statistics = {4, 4, {2, 0, 0, 0}, {4, 3, 2, 1}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(bleu_score(statistics, Smoothing::add_k(-1)), ArgumentError);
  CHECK_THROWS_AS(bleu_score(statistics, Smoothing::floor(nan)), ArgumentError);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(bleu_score(statistics, Smoothing::add_k(infinity)), ArgumentError);
}

}  // namespace bleu_tests
