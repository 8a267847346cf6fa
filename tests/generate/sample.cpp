// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/sample.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <vector>

#include "../message_of.hpp"

namespace sample_tests {

using namespace weft;
using generate::sample_word;

TEST_CASE("words are drawn as often as they are probable") {
  const std::vector<float> logits{0.0f, std::log(2.0f), -1e9f, std::log(5.0f)};
  const auto counts = [&](double temperature) {
    std::array<int, 4> drawn{};
    for (int i = 0; i < 8000; ++i) {
      ++drawn[static_cast<std::size_t>(sample_word(logits, temperature, (i + 0.5) / 8000))];
    }
    return drawn;
  };
  CHECK(counts(1.0) == std::array{1000, 2000, 0, 5000});
  // At half the temperature probabilities are squared: 1, 4 and 25 of 30.
  const auto sharp = counts(0.5);
  CHECK(std::abs(sharp[0] - 267) <= 1);
  CHECK(std::abs(sharp[1] - 1067) <= 1);
  CHECK(sharp[2] == 0);
  CHECK(counts(0.0) == std::array{0, 0, 0, 8000});
  // Large logits do not overflow.
  CHECK(sample_word(std::vector{3e38f, 3e38f}, 1.0, 0.4) == 0);
  CHECK(sample_word(std::vector{3e38f, 3e38f}, 1.0, 0.6) == 1);
}

TEST_CASE("no rounding draws a word of probability 0") {
  for (int row = 1; row < 500; ++row) {
    std::vector<float> logits;
    for (int word = 0; word < row; ++word) {
      logits.push_back(std::sin(static_cast<float>(word * row)));
    }
    logits.push_back(-1e4f);
    CHECK(sample_word(logits, 1.0, 1.0 - 0x1p-53) < row);
  }
}

TEST_CASE("of equals the first word is the most probable one") {
  CHECK(sample_word(std::vector{1.0f, 2.0f, 2.0f}, 0.0, 0.99) == 1);
}

TEST_CASE("a temperature below 0 and no words are refused") {
  using weft::testing::message_of;
  CHECK(message_of<ArgumentError>([] { return sample_word(std::vector{1.0f}, -1.0, 0.5); }) ==
        "sample_word: a temperature of -1, 1 words");
  CHECK(message_of<ArgumentError>([] { return sample_word({}, 1.0, 0.5); }) ==
        "sample_word: a temperature of 1, 0 words");
}

}  // namespace sample_tests
