// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/shuffle.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

namespace shuffle_tests {

using namespace weft;
using namespace weft::data;

TEST_CASE("the numbers are those of splitmix64") {
  // The reference output for the seed 1234567, as Java's SplittableRandom and others give it.
  SplitMix64 random(1234567);
  CHECK(random() == 6457827717110365317u);
  CHECK(random() == 3203168211198807973u);
  CHECK(random() == 9817491932198370423u);
  CHECK(random() == 4593380528125082431u);
  CHECK(random() == 16408922859458223821u);
}

TEST_CASE("every sequence of keys has its own numbers") {
  std::map<std::uint64_t, int> first;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ++first[SplitMix64::keyed({seed})()];
    for (std::uint64_t epoch = 0; epoch < 100; ++epoch) {
      ++first[SplitMix64::keyed({seed, epoch})()];
    }
  }
  CHECK(first.size() == 100 * 101);
  CHECK(SplitMix64::keyed({1, 2})() == SplitMix64::keyed({1, 2})());
}

TEST_CASE("bounded numbers stay below the bound and are evenly spread") {
  SplitMix64 random(7);
  CHECK(random.below(1) == 0);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(static_cast<std::size_t>(random.below(6)));
  // 10,000 expected, standard deviation 91: five of them.
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 456);
}

TEST_CASE("bounds that do not divide 2^64 favour no number") {
  // Without rejection the lower third of 3 * 2^61 numbers would come in 3/8 of the draws.
  SplitMix64 random(7);
  int low = 0;
  for (int i = 0; i < 30'000; ++i)
    low += random.below(index_t{3} << 61) < (index_t{1} << 61) ? 1 : 0;
  CHECK(std::abs(low - 10'000) < 409);  // five standard deviations
}

TEST_CASE("every order of a shuffle is equally likely") {
  std::map<std::vector<int>, int> counts;
  SplitMix64 random(3);
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> values = {1, 2, 3, 4};
    shuffle(std::span(values), random);
    ++counts[values];
  }
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 1000) < 155);  // five deviations
}

TEST_CASE("nothing and one thing have one order") {
  SplitMix64 random(3);
  std::vector<int> values;
  shuffle(std::span(values), random);
  values = {5};
  shuffle(std::span(values), random);
  CHECK(values == std::vector<int>{5});
}

}  // namespace shuffle_tests
