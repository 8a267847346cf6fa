// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/generate/cuda/best_words.cuh>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <weft/device/cpu.hpp>

#include "../generate/equal_logits.hpp"

namespace best_words_tests {

using namespace weft;
using namespace weft::generate;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

//! Many are equal; the last rows have some that are no numbers.
std::vector<float> logits_of(index_t rows, index_t V) {
  auto logits = testing::equal_logits(rows, V);
  const auto at = [&](index_t row, index_t v) -> float& {
    return logits[static_cast<std::size_t>(row * V + v)];
  };
  for (index_t v = 0; v < V; ++v) {
    if (v % 3 != 1) at(rows - 3, v) = -infinity;
    at(rows - 2, v) = -infinity;
  }
  at(rows - 1, V / 2) = std::nanf("");
  return logits;
}

//! Whether a GPU's sum of exponentials can have led from one to the other.
bool agree(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) < 1e-5f;
}

}  // namespace

TEST_CASE("a GPU finds the words that a processor finds") {
  const auto V = GENERATE(as<index_t>(), 1, 5, 128, 255, 257, 1000);
  const auto count = GENERATE(as<index_t>(), 1, 11);
  const bool takes_out = GENERATE(false, true);
  CAPTURE(V, count, takes_out);
  constexpr index_t rows = 5;
  const auto logits = logits_of(rows, V);
  Cpu cpu;
  Cuda gpu;
  const auto on_gpu = to_device<float>(gpu, logits, {rows, V});
  const View<const float> on_cpu{logits.data(), {rows, V}};
  const std::vector<token_t> taken{0, 3, 4, 250, 251, 999};
  View<const float> of_cpu, of_gpu;
  const auto penalties = without_words(cpu, V, taken);
  const auto penalties_on_gpu = without_words(gpu, V, taken);
  if (takes_out) {
    of_cpu = penalties;
    of_gpu = penalties_on_gpu;
  }
  const auto expected = best_words(cpu, on_cpu, count, of_cpu);
  const auto found = best_words(gpu, View<const float>(on_gpu), count, of_gpu);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found[i].log_probability, expected[i].log_probability);
    CHECK(found[i].word == expected[i].word);
    CHECK(agree(found[i].log_probability, expected[i].log_probability));
  }
  const token_t word = static_cast<token_t>(V - 1);
  const auto probabilities = log_probabilities(gpu, View<const float>(on_gpu), word);
  const auto expected_probabilities = log_probabilities(cpu, on_cpu, word);
  for (std::size_t n = 0; n < rows; ++n) {
    CAPTURE(n, probabilities[n], expected_probabilities[n]);
    CHECK(agree(probabilities[n], expected_probabilities[n]));
  }
}

TEST_CASE("of no rows a GPU finds nothing") {
  Cuda gpu;
  CHECK(best_words(gpu, View<const float>(nullptr, {0, 10}), 3).empty());
  CHECK(log_probabilities(gpu, View<const float>(nullptr, {0, 10}), 3).empty());
}

}  // namespace best_words_tests
