// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/simd_pairs.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace simd_pairs_tests {

using namespace weft;
using simd::Bfloat16Pair;

namespace {

//! Small integers, which are exact: 1 and -2, 2 and -3, ...
constexpr Bfloat16Pair numbered(int i) {
  return {Bfloat16(static_cast<float>(i + 1)), Bfloat16(static_cast<float>(-i - 2))};
}

}  // namespace

TEST_CASE("pairs are read and repeated as they lie, zeros past the end") {
  Bfloat16Pair pairs[simd::width];
  for (int i = 0; i < simd::width; ++i) pairs[i] = numbered(i);
  const simd::Words all = simd::load(pairs, simd::Full{0});
  CHECK(std::memcmp(&all, pairs, sizeof all) == 0);
  const simd::Words some = simd::load(pairs + 2, simd::Tail{0, 5});
  auto read = std::bit_cast<std::array<Bfloat16Pair, simd::width>>(some);
  CHECK(std::memcmp(read.data(), pairs + 2, 5 * sizeof(Bfloat16Pair)) == 0);
  for (std::size_t i = 5; i < simd::width; ++i) {
    CHECK((read[i].first.bits | read[i].second.bits) == 0);
  }
  const simd::Words repeated = simd::broadcast(pairs[3]);
  read = std::bit_cast<std::array<Bfloat16Pair, simd::width>>(repeated);
  for (const auto& pair : read) CHECK(std::memcmp(&pair, pairs + 3, sizeof pair) == 0);
}

#if WEFT_AVX512_BF16
TEST_CASE("both products of a pair are added to a float") {
  Bfloat16Pair pairs[simd::width];
  float sums[simd::width];
  for (int i = 0; i < simd::width; ++i) {
    pairs[i] = numbered(i);
    sums[i] = static_cast<float>(100 * i);
  }
  const Bfloat16Pair factor{Bfloat16(3.0f), Bfloat16(0.5f)};
  simd::store(sums, simd::Full{0},
              simd::multiply_add(simd::broadcast(factor), simd::load(pairs, simd::Full{0}),
                                 simd::load(sums, simd::Full{0})));
  for (int i = 0; i < simd::width; ++i) {
    CHECK(sums[i] == static_cast<float>(100 * i + 3 * (i + 1)) - 0.5f * static_cast<float>(i + 2));
  }
}
#endif

}  // namespace simd_pairs_tests
