// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/initialize.hpp>

#include <weft/nn/embedding.hpp>
#include <weft/nn/linear.hpp>
#include <weft/nn/sequential.hpp>

#include "../message_of.hpp"
#include "../placed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace initialize_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

namespace {

std::vector<float> initialized(const Initializer& initializer, Shape shape, std::uint64_t seed = 1,
                               int slot = 0) {
  Parameter parameter{.shape = shape, .initializer = initializer};
  parameter.slot = slot;
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  initialize(parameter, seed, values);
  return values;
}

//! The mean of the k-th powers.
double moment(const std::vector<float>& values, int k) {
  double sum = 0.0;
  for (const float value : values) sum += std::pow(static_cast<double>(value), k);
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("normal values have the moments of a normal distribution") {
  const auto values = initialized(Initializer::normal(0.5f), {200, 500});
  // Five standard deviations of each mean over 100,000 values.
  CHECK(moment(values, 1) == Approx(0.0).margin(5 * 0.5 / 316));
  CHECK(moment(values, 2) == Approx(0.25).margin(5 * 0.25 * std::sqrt(2.0) / 316));
  CHECK(moment(values, 4) == Approx(3 * 0.0625).margin(5 * 0.0625 * std::sqrt(96.0) / 316));
}

TEST_CASE("uniform values fill their interval evenly") {
  for (const auto& values : {initialized(Initializer::uniform(0.5f), {100000}),
                             initialized(Initializer::xavier_uniform(10.0f), {800, 1600})}) {
    const double bound = 0.5;  // of the second too: 10 sqrt(6 / 2400)
    CHECK(std::ranges::all_of(values, [&](float v) { return std::abs(v) <= bound; }));
    const double root = std::sqrt(static_cast<double>(values.size()));
    const double variance = bound * bound / 3.0;
    CHECK(moment(values, 1) == Approx(0.0).margin(5 * std::sqrt(variance) / root));
    // The variance of x^2 is 4/45 of the bound's fourth power.
    CHECK(moment(values, 2) ==
          Approx(variance).margin(5 * std::sqrt(4.0 / 45.0) * bound * bound / root));
  }
}

TEST_CASE("sinusoids are those of the paper") {
  const auto table = initialized(Initializer::sinusoids(), {60, 6});
  for (const int t : {0, 1, 7, 59}) {
    for (const int i : {0, 1, 2}) {
      const double angle = t / std::pow(10000.0, 2.0 * i / 6.0);
      const auto at = static_cast<std::size_t>(t * 6 + 2 * i);
      CHECK(static_cast<double>(table[at]) == Approx(std::sin(angle)).margin(1e-7));
      CHECK(static_cast<double>(table[at + 1]) == Approx(std::cos(angle)).margin(1e-7));
    }
  }
}

TEST_CASE("frequencies fall from 1 almost to those of the base, and slow ones more by a factor") {
  const auto values = initialized(Initializer::frequencies({.base = 10'000}), {4});
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(static_cast<double>(values[i]) ==
          Approx(std::pow(10.0, -static_cast<double>(i))).epsilon(1e-7));
  }
  // Of 8,192 positions the pairs turn 1,304, 130, 13 and 1.3 times.
  const auto slower = initialized(Initializer::frequencies({.base = 10'000, .factor = 8}), {4});
  CHECK(std::vector(slower.begin(), slower.begin() + 3) ==
        std::vector(values.begin(), values.begin() + 3));
  const double kept = (8192 * 1e-3 / (2 * 3.14159265358979) - 1) / 3;
  CHECK(static_cast<double>(slower[3]) == Approx(1e-3 * ((1 - kept) / 8 + kept)).epsilon(1e-6));
  const auto slow = initialized(
      Initializer::frequencies({.base = 10'000, .factor = 8, .first_length = 4'096}), {4});
  CHECK(slow[3] == values[3] / 8);  // 0.7 times
}

TEST_CASE("frequencies are those of Llama to the bit, so that far positions turn alike") {
  // 1.0 / (500000.0 ** (torch.arange(0, 16, 2).float() / 16)), as in Llama and in transformers.
  CHECK(initialized(Initializer::frequencies({.base = 500'000}), {8}) ==
        std::vector<float>{0x1p+0f, 0x1.8d276p-3f, 0x1.341190p-5f, 0x1.ddee9ep-8f, 0x1.72ba42p-10f,
                           0x1.1f91f0p-12f, 0x1.be2188p-15f, 0x1.5a0f4ep-17f});
  // And what transformers makes of them by rope_type "llama3" with a factor of 32.
  CHECK(initialized(Initializer::frequencies({.base = 500'000, .factor = 32}), {8}) ==
        std::vector<float>{0x1.000000p+0f, 0x1.8d2760p-3f, 0x1.341190p-5f, 0x1.ddee9ep-8f,
                           0x1.c26c40p-12f, 0x1.1f91f0p-17f, 0x1.be2188p-20f, 0x1.5a0f4ep-22f});
}

TEST_CASE("sinusoids in halves are the same numbers, the sines first") {
  for (const index_t C : {6, 7}) {
    const auto turns = initialized(Initializer::sinusoids(), {60, C});
    const auto halves = initialized(Initializer::sinusoids_in_halves(), {60, C});
    for (index_t t = 0; t < 60; ++t) {
      for (index_t c = 0; c < C; ++c) {
        const index_t place = c / 2 + (c % 2 == 0 ? 0 : (C + 1) / 2);
        CAPTURE(C, t, c);
        REQUIRE(halves[static_cast<std::size_t>(t * C + place)] ==
                turns[static_cast<std::size_t>(t * C + c)]);
      }
    }
  }
}

TEST_CASE("each seed and each parameter has its own values, the same every time") {
  const auto init = Initializer::normal(1.0f);
  const auto values = initialized(init, {50}, 1, 0);
  CHECK(values == initialized(init, {50}, 1, 0));
  CHECK(values != initialized(init, {50}, 2, 0));
  CHECK(values != initialized(init, {50}, 1, 1));
}

TEST_CASE("the values of a module are those of its parameters") {
  Sequential model{Embedding<4>(5, 6, 0.0f), Linear<4, 4>(), Linear<4, 3>()};
  const auto layout = place(model);
  const auto values = initial_values(layout, 9, model);
  REQUIRE(std::ssize(values) == layout.values);
  for (const auto& [name, p] : named_parameters(model)) {
    INFO(name);
    std::vector<float> alone(static_cast<std::size_t>(p.size()));
    initialize(p, 9, alone);
    CHECK(std::ranges::equal(
        alone, std::span(values).subspan(static_cast<std::size_t>(p.value_offset), alone.size())));
  }
}

TEST_CASE("a table that was not placed is refused, and not written before the values") {
  Sequential model{Embedding<4>(5, 6, 0.0f), Linear<4, 4>()};
  ParameterLayout layout;
  place_trained(model, layout);
  CHECK(message_of<Error>([&] { return initial_values(layout, 9, model); }) ==
        "a parameter of shape (6, 4) has no place in the buffers: its module's members() must show "
        "it, and the model must be placed, as Objective does, or nn::place_trained and then "
        "nn::place_others");
}

}  // namespace initialize_tests
