// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/sample.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "../message_of.hpp"

namespace sample_tests {

using namespace weft;
using generate::sample_word;
using generate::Sampling;

namespace {

//! How often each of four words is drawn.
std::array<int, 4> times_drawn(const std::vector<float>& logits, const Sampling& sampling) {
  std::array<int, 4> drawn{};
  for (int i = 0; i < 8000; ++i) {
    ++drawn[static_cast<std::size_t>(sample_word(logits, sampling, (i + 0.5) / 8000))];
  }
  return drawn;
}

}  // namespace

TEST_CASE("words are drawn as often as they are probable") {
  const std::vector<float> logits{0.0f, std::log(2.0f), -1e9f, std::log(5.0f)};
  const auto counts = [&](double temperature) {
    return times_drawn(logits, {.temperature = temperature});
  };
  CHECK(counts(1.0) == std::array{1000, 2000, 0, 5000});
  // At half the temperature probabilities are squared: 1, 4 and 25 of 30.
  const auto sharp = counts(0.5);
  CHECK(std::abs(sharp[0] - 267) <= 1);
  CHECK(std::abs(sharp[1] - 1067) <= 1);
  CHECK(sharp[2] == 0);
  CHECK(counts(0.0) == std::array{0, 0, 0, 8000});
  // Large logits do not overflow.
  CHECK(sample_word(std::vector{3e38f, 3e38f}, {.temperature = 1.0}, 0.4) == 0);
  CHECK(sample_word(std::vector{3e38f, 3e38f}, {.temperature = 1.0}, 0.6) == 1);
}

TEST_CASE("no rounding draws a word of probability 0") {
  for (int row = 1; row < 500; ++row) {
    std::vector<float> logits;
    for (int word = 0; word < row; ++word) {
      logits.push_back(std::sin(static_cast<float>(word * row)));
    }
    logits.push_back(-1e4f);
    CHECK(sample_word(logits, {.temperature = 1.0}, 1.0 - 0x1p-53) < row);
  }
}

TEST_CASE("a word whose logit is minus infinity is not drawn") {
  const float never = -std::numeric_limits<float>::infinity();
  for (const double uniform : {0.0, 0.4, 0.6, 1.0 - 0x1p-53}) {
    for (const index_t top_k : {0, 2, 4}) {
      const auto word = sample_word(std::vector{never, 1.0f, never, 1.0f},
                                    {.temperature = 1.0, .top_k = top_k, .top_p = 0.9}, uniform);
      CHECK(word == (uniform < 0.5 ? 1 : 3));
    }
  }
}

TEST_CASE("of equals the first word is the most probable one") {
  CHECK(sample_word(std::vector{1.0f, 2.0f, 2.0f}, {}, 0.99) == 1);
}

TEST_CASE("the likeliest words alone are drawn, in the ratio of their probabilities") {
  // Probabilities of 0.125, 0.25, 0.125 and 0.5.
  const std::vector<float> logits{0.0f, std::log(2.0f), 0.0f, std::log(4.0f)};
  const auto drawn = [&](index_t top_k, double top_p) {
    return times_drawn(logits, {.temperature = 1.0, .top_k = top_k, .top_p = top_p});
  };
  CHECK(drawn(0, 1.0) == std::array{1000, 2000, 1000, 4000});
  CHECK(drawn(1, 1.0) == std::array{0, 0, 0, 8000});
  CHECK(std::abs(drawn(2, 1.0)[1] - 2667) <= 1);
  CHECK(std::abs(drawn(2, 1.0)[3] - 5333) <= 1);
  CHECK(drawn(3, 1.0)[2] == 0);  // of equals the first
  CHECK(std::abs(drawn(3, 1.0)[0] - 1143) <= 1);
  CHECK(drawn(4, 1.0) == std::array{1000, 2000, 1000, 4000});
  CHECK(drawn(9, 1.0) == std::array{1000, 2000, 1000, 4000});
  CHECK(drawn(0, 1e-9) == std::array{0, 0, 0, 8000});
  CHECK(drawn(0, 0.49) == std::array{0, 0, 0, 8000});
  CHECK(drawn(0, 0.7) == drawn(2, 1.0));
  CHECK(drawn(0, 0.8) == drawn(3, 1.0));
  CHECK(drawn(0, 0.9) == std::array{1000, 2000, 1000, 4000});
  // Of two equal words one has the half that is asked for.
  CHECK(sample_word(std::vector{0.0f, 0.0f}, {.temperature = 1.0, .top_p = 0.5}, 0.9) == 0);
  // Shares are of the words that top_k leaves: 4/6 and 2/6 here.
  CHECK(drawn(2, 0.6) == std::array{0, 0, 0, 8000});
  CHECK(drawn(2, 0.7) == drawn(2, 1.0));
  CHECK(sample_word(logits, {.top_k = 2, .top_p = 0.5}, 0.9) == 3);
}

TEST_CASE("what no word can be drawn by is refused") {
  const auto fault = [](const Sampling& sampling) {
    return weft::testing::message_of<ArgumentError>(
        [&] { return sample_word(std::vector{1.0f}, sampling, 0.5); });
  };
  CHECK(fault({.temperature = -1.0}) == "sample_word: a temperature of -1, top_k of 0, top_p of 1");
  CHECK(fault({.temperature = std::nan("")}) ==
        "sample_word: a temperature of nan, top_k of 0, top_p of 1");
  CHECK(fault({.temperature = std::numeric_limits<double>::infinity()}) ==
        "sample_word: a temperature of inf, top_k of 0, top_p of 1");
  CHECK(fault({.top_k = -2}) == "sample_word: a temperature of 0, top_k of -2, top_p of 1");
  CHECK(fault({.top_p = 0.0}) == "sample_word: a temperature of 0, top_k of 0, top_p of 0");
  CHECK(fault({.top_p = 1.5}) == "sample_word: a temperature of 0, top_k of 0, top_p of 1.5");
  CHECK(weft::testing::message_of<ArgumentError>([] { return sample_word({}, {}, 0.5); }) ==
        "sample_word: no words");
}

}  // namespace sample_tests
