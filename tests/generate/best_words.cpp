// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/best_words.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "../message_of.hpp"
#include "equal_logits.hpp"

namespace best_words_tests {

using namespace weft;
using namespace weft::generate;
using weft::testing::equal_logits;
using weft::testing::message_of;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

double log_sum_exp(const float* row, index_t V) {
  double sum = 0.0;
  for (index_t v = 0; v < V; ++v) sum += std::exp(static_cast<double>(row[v]));
  return std::log(sum);
}

}  // namespace

TEST_CASE("the best words are those of a full sort, the lower number first among equals") {
  // Around 16, the width of a vector, and 256, the stretch that is skipped at once.
  const auto V = GENERATE(as<index_t>(), 1, 5, 16, 17, 255, 256, 257, 1000);
  const auto count = GENERATE(as<index_t>(), 1, 2, 11);
  const auto threads = GENERATE(1, 3);
  CAPTURE(V, count, threads);
  Cpu device(threads);
  const index_t rows = 7;
  const auto logits = equal_logits(rows, V);
  const auto best = best_words(device, {logits.data(), {rows, V}}, count);
  REQUIRE(std::ssize(best) == rows * count);

  for (index_t n = 0; n < rows; ++n) {
    const float* row = logits.data() + n * V;
    std::vector<token_t> order(static_cast<std::size_t>(V));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](token_t v) { return row[v]; });
    for (index_t i = 0; i < count; ++i) {
      const auto& is = best[static_cast<std::size_t>(n * count + i)];
      if (i >= V) {
        CHECK(is.word == -1);
        continue;
      }
      REQUIRE(is.word == order[static_cast<std::size_t>(i)]);
      // The largest number on the way is 16; the sum of exponentials adds some roundings.
      const double should = static_cast<double>(row[is.word]) - log_sum_exp(row, V);
      CHECK(static_cast<double>(is.log_probability) == Approx(should).margin(1e-5));
    }
  }
}

TEST_CASE("a word that is taken out leaves the others their probabilities") {
  Cpu device(2);
  const index_t rows = 4, V = 600, count = 7;
  const auto logits = equal_logits(rows, V);
  const View<const float> view(logits.data(), {rows, V});
  const auto all = best_words(device, view, V);
  std::vector<token_t> taken{-1, static_cast<token_t>(V)};  // no words
  for (index_t n = 0; n < rows; ++n) {
    for (index_t i = 0; i < 4; i += 2)
      taken.push_back(all[static_cast<std::size_t>(n * V + i)].word);
  }
  const auto penalties = without_words(device, V, taken);
  const auto best = best_words(device, view, count, View<const float>(penalties));
  for (index_t n = 0; n < rows; ++n) {
    std::vector<ScoredWord> expected;
    for (index_t i = 0; i < V; ++i) {
      const auto& scored = all[static_cast<std::size_t>(n * V + i)];
      if (std::ranges::find(taken, scored.word) == taken.end()) expected.push_back(scored);
    }
    for (index_t i = 0; i < count; ++i) {
      const auto& is = best[static_cast<std::size_t>(n * count + i)];
      const auto& should = expected[static_cast<std::size_t>(i)];
      CHECK(is.word == should.word);
      CHECK(is.log_probability == should.log_probability);
    }
  }
  std::vector<token_t> every(static_cast<std::size_t>(V));
  std::iota(every.begin(), every.end(), 0);
  const auto nothing = without_words(device, V, every);
  CHECK(best_words(device, view, 1, View<const float>(nothing)).front().word == -1);
  CHECK(message_of<ShapeError>([&] {
          return best_words(device, view, 1, View<const float>(nothing.data(), {V - 1}));
        }).starts_with("best_words: penalties"));
}

TEST_CASE("logits of any size give logarithms of probabilities") {
  Cpu device;
  const std::vector<float> logits{1e4f,      1e4f,   -1e4f,   //
                                  -1e30f,    -1e30f, -2e30f,  //
                                  -infinity, 5.0f,   -infinity};
  const auto best = best_words(device, {logits.data(), {3, 3}}, 3);
  CHECK(best[0].log_probability == Approx(std::log(0.5)));
  CHECK(best[1].word == 1);
  CHECK(best[2].log_probability == Approx(-2e4 - std::log(2.0)));
  CHECK(best[3].log_probability == Approx(std::log(0.5)));
  CHECK(best[6].word == 1);
  CHECK(best[6].log_probability == 0.0f);
  CHECK(best[7].word == -1);  // what is impossible is not among the best
}

TEST_CASE("a row that is not made of numbers yields no words, and spares the other rows") {
  Cpu device;
  const float nan = std::nanf("");
  const std::vector<float> logits{nan, nan, nan, 0.0f, 2.0f, 1.0f};
  const auto best = best_words(device, {logits.data(), {2, 3}}, 2);
  CHECK(best[0].word == -1);
  CHECK(best[1].word == -1);
  CHECK(best[2].word == 1);
  CHECK(best[3].word == 2);
}

TEST_CASE("one word's log-probability is that which it has among the best") {
  Cpu device(2);
  const index_t rows = 5, V = 300;
  const auto logits = equal_logits(rows, V);
  const View<const float> view(logits.data(), {rows, V});
  const auto best = best_words(device, view, V);
  for (const token_t word : {0, 17, 299}) {
    const auto all = log_probabilities(device, view, word);
    REQUIRE(std::ssize(all) == rows);
    for (index_t n = 0; n < rows; ++n) {
      const auto row = best.begin() + n * V;
      const auto found =
          std::find_if(row, row + V, [&](const ScoredWord& scored) { return scored.word == word; });
      REQUIRE(found != row + V);
      CHECK(all[static_cast<std::size_t>(n)] == found->log_probability);
    }
  }
}

TEST_CASE("of no rows, or where none are wanted, there are no best words") {
  Cpu device(2);
  CHECK(best_words(device, {nullptr, {0, 10}}, 3).empty());
  CHECK(log_probabilities(device, {nullptr, {0, 10}}, 3).empty());
  const std::vector<float> logits(600, 1.0f);
  CHECK(best_words(device, {logits.data(), {2, 300}}, 0).empty());
  CHECK(message_of<ArgumentError>([&] {
          return best_words(device, {logits.data(), {2, 300}}, -1);
        }) == "best_words: -1 words");
}

}  // namespace best_words_tests
