// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/philox.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <utility>

namespace philox_tests {

using namespace weft;

namespace {

using Four = PhiloxBlock;

RandomKey key_of(std::uint32_t low, std::uint32_t high) {
  RandomKey key;
  key.low = low;
  key.high = high;
  return key;
}

}  // namespace

TEST_CASE("Philox gives the numbers that its authors published") {
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  CHECK(philox({0, 0, 0, 0}, key_of(0, 0)) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key_of(0xffffffff, 0xffffffff)) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key_of(0xa4093822, 0x299f31d0)) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  // And with 7.
  CHECK(philox<7>({0, 0, 0, 0}, key_of(0, 0)) ==
        Four{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48});
  CHECK(
      philox<7>({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key_of(0xffffffff, 0xffffffff)) ==
      Four{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662});
  CHECK(
      philox<7>({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key_of(0xa4093822, 0x299f31d0)) ==
      Four{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a});
}

TEST_CASE("sixteen counters at a time give what each gives alone") {
  const RandomKey key(42, 7);
  for (const std::uint32_t first : {0u, 5u, 0x7ffffffau, 0xfffffff8u}) {
    std::array<std::uint32_t, 16> counters, words[4];
    for (std::uint32_t lane = 0; lane < 16; ++lane) counters[lane] = first + lane;
    const PhiloxWords vectors =
        philox<7>(simd::load_all<simd::Words>(counters.data()), 0xdeadbeefu, 3, 0x80000001u, key);
    for (std::size_t i = 0; i < 4; ++i) simd::store_all(words[i].data(), vectors.word[i]);
    for (std::uint32_t lane = 0; lane < 16; ++lane) {
      const Four alone = philox<7>({first + lane, 0xdeadbeefu, 3, 0x80000001u}, key);
      for (std::size_t i = 0; i < 4; ++i) CHECK(words[i][lane] == alone[i]);
    }
  }
}

TEST_CASE("the key of a seed and a step never changes") {
  // By tests/reference/random_key.py: a saved state that is resumed must find its numbers again.
  CHECK(RandomKey(0, 0) == key_of(0x4d197e6f, 0xa706dd2f));
  CHECK(RandomKey(0, 1) == key_of(0xaf37e97f, 0x2a98f501));
  CHECK(RandomKey(1, 0) == key_of(0x7439611e, 0x5e41ab08));
  CHECK(RandomKey(0x7ea, 0x1f40) == key_of(0xc4fb1951, 0xfe05515e));
  CHECK(RandomKey(0xffffffffffffffff, 0x8000000000000000) == key_of(0x6a8a1fa6, 0xf7f1454e));
}

TEST_CASE("every seed and step has a key of its own") {
  std::set<std::pair<std::uint32_t, std::uint32_t>> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      const RandomKey key(seed, step);
      keys.insert({key.low, key.high});
    }
  }
  CHECK(keys.size() == 100 * 100);
}

}  // namespace philox_tests
