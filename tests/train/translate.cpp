// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/translate.hpp>

#include <catch2/catch.hpp>

#include <vector>

#include "../message_of.hpp"
#include "small_runs.hpp"

namespace translate_tests {

using namespace weft;
using namespace weft::testing;
using generate::Hypothesis;
using generate::SearchSettings;
using parallel::DeviceError;

namespace {

constexpr token_t eos = 3;

//! Makes a fresh model's words differ in probability.
template <class Strategy>
void sharpen(Strategy& strategy) {
  const auto& weight = strategy.objective().model().source_embedding.weight;
  float* values = strategy.state().values().data() + weight.value_offset;
  for (index_t i = 0; i < weight.size(); ++i) values[i] *= 3.0f;
}

//! Rows of words without ends.
data::TokenRows random_sources(index_t sentences) { return random_corpus(sentences, 9).source; }

//! The best translation of one source that is searched alone.
template <class Strategy>
Hypothesis alone(Strategy& strategy, std::span<const token_t> words,
                 const SearchSettings& settings) {
  data::TokenRows row;
  row.tokens.assign(words.begin(), words.end());
  row.tokens.push_back(eos);
  row.end_row();
  nn::Context<Cpu> ctx(strategy.device(0), strategy.state().values().data());
  return generate::beam_search(
      ctx, strategy.objective().model(), strategy.objective().loss().generator,
      train::to_sequences(strategy.device(0), row, {0, 1}), settings)[0][0];
}

}  // namespace

TEST_CASE("translations stand in the order of their sources, in batches of any size") {
  OneDevice<> one;
  sharpen(one.strategy);
  const auto sources = random_sources(13);
  // Greedy: rounding decides between two words only where they are closer than 1e-4.
  const SearchSettings settings{.beam = 1, .max_length_b = 8};
  for (const index_t batch : {1, 2, 5, 13, 64}) {
    CAPTURE(batch);
    const auto found = train::translate(one.strategy, sources, eos, settings, batch);
    REQUIRE(found.size() == 13);
    for (index_t row = 0; row < 13; ++row) {
      const auto expected = alone(one.strategy, sources[row], settings);
      const auto& is = found[static_cast<std::size_t>(row)];
      CHECK(is.tokens == expected.tokens);
      CHECK(is.score == Approx(expected.score).margin(1e-4));
    }
  }
}

TEST_CASE("any number of devices gives the same translations, bit for bit") {
  const auto sources = random_sources(13);
  const SearchSettings settings{.beam = 3, .max_length_b = 8};
  OneDevice<> one;
  sharpen(one.strategy);
  const auto expected = train::translate(one.strategy, sources, eos, settings, 3);
  CHECK(expected.size() == 13);
  for (const int devices : {1, 2, 3, 8}) {
    CAPTURE(devices);
    Devices many(devices);
    sharpen(many.strategy);
    CHECK(train::translate(many.strategy, sources, eos, settings, 3) == expected);
  }
}

TEST_CASE("no sources have no translations, and a source without words has one") {
  OneDevice<> one;
  CHECK(train::translate(one.strategy, {}, eos, {}).empty());
  data::TokenRows nothing;
  nothing.end_row();
  const auto found = train::translate(one.strategy, nothing, eos, {.max_length_b = 3});
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].tokens.empty());
}

TEST_CASE("a source that is longer than the positions is an error that says so") {
  Devices devices(2);
  data::TokenRows sources = random_sources(3);
  sources.tokens.insert(sources.tokens.end(), 24, 5);
  sources.end_row();
  const auto message = message_of<DeviceError>(
      [&] { return train::translate(devices.strategy, sources, eos, {.max_length_b = 3}); });
  CHECK_THAT(message,
             Catch::EndsWith("embedding: a sequence of 25 tokens is longer than the 24 positions"));
}

TEST_CASE("a batch may be larger than all there is") {
  OneDevice<> one;
  const auto sources = random_sources(3);
  constexpr index_t most = std::numeric_limits<index_t>::max();
  CHECK(train::translate(one.strategy, sources, eos, {.max_length_b = 8}, most) ==
        train::translate(one.strategy, sources, eos, {.max_length_b = 8}));
}

TEST_CASE("batches of no sentences are refused") {
  OneDevice<> one;
  CHECK(message_of<ArgumentError>([&] {
          return train::translate(one.strategy, random_sources(2), eos, {}, 0);
        }) == "translate: batches of 0 sentences");
}

TEST_CASE("a beam of one without scores is a greedy search on every device") {
  Devices two(2);
  sharpen(two.strategy);
  const auto sources = random_sources(9);
  const auto scored = train::translate(two.strategy, sources, eos, {.beam = 1, .max_length_b = 8});
  const auto found = train::translate(two.strategy, sources, eos,
                                      {.beam = 1, .max_length_b = 8, .scores = false}, 4);
  REQUIRE(found.size() == scored.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    CHECK(found[row] == Hypothesis{scored[row].tokens, 0.0});
    CHECK(scored[row].score < 0.0);
  }
}

}  // namespace translate_tests
