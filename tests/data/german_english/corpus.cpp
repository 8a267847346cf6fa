// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/corpus.hpp>

#include "../../message_of.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

namespace german_english_corpus_tests {

using namespace weft;
using namespace weft::data;
using namespace weft::data::german_english;
using weft::testing::message_of;

TEST_CASE("a corpus of 100,000 different sentences exists, about a twentieth of it held out") {
  const auto [training, held_out] = generate_corpus(1, 100'000);
  std::set<std::string> sources(training.source.begin(), training.source.end());
  sources.insert(held_out.source.begin(), held_out.source.end());
  CHECK(sources.size() == 100'000);
  CHECK(training.size() + held_out.size() == 100'000);
  CHECK(std::abs(held_out.size() - 5000) < 345);  // five standard deviations
  CHECK(training.skipped + held_out.skipped == 0);
}

TEST_CASE("no corpus trains on what any other holds out") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const auto [training, held_out] = generate_corpus(seed, 2000);
    CHECK(std::ranges::none_of(training.source, is_held_out));
    CHECK(std::ranges::all_of(held_out.source, is_held_out));
    CHECK(held_out.size() > 0);
  }
}

TEST_CASE("a corpus is a function of its seed, and a longer one begins with the shorter") {
  const auto shorter = generate_corpus(7, 300).training;
  const auto longer = generate_corpus(7, 600).training;
  REQUIRE(longer.size() > shorter.size());
  CHECK(std::equal(shorter.source.begin(), shorter.source.end(), longer.source.begin()));
  CHECK(std::equal(shorter.target.begin(), shorter.target.end(), longer.target.begin()));
  CHECK(generate_corpus(8, 300).training.source != shorter.source);
}

TEST_CASE("the corpus is the same on every platform") {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto corpus = generate_corpus(42, 1000);
  for (const auto* side : {&corpus.training.source, &corpus.training.target}) {
    for (const auto& line : *side) {
      for (const char byte : line) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
      }
    }
  }
  CHECK(hash == 0x12B2AC1FA26FD5A5);  // of the first version: other compilers must find the same
}

TEST_CASE("a corpus without sentences or with too many is an error") {
  const auto count = GENERATE(index_t{0}, index_t{1'000'001});
  CHECK(message_of<ArgumentError>([&] { return generate_corpus(1, count); }) ==
        text("generate_corpus: ", count, " is not in 1 to 1000000"));
}

}  // namespace german_english_corpus_tests
