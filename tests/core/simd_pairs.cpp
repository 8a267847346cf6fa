// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/simd_pairs.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

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

TEST_CASE("floats become pairs of neighbours, or pairs of two rows, rounded to the nearest") {
  float first[simd::width], second[simd::width];
  for (int i = 0; i < simd::width; ++i) {
    first[i] = 1.0f + static_cast<float>(i) * 0x1p-8f;  // every other one is halfway, to an even
    second[i] = -3.0f * first[i] - 0x1p-12f;
  }
  first[5] = std::numeric_limits<float>::infinity();
  second[6] = std::numeric_limits<float>::quiet_NaN();
  second[7] = 1e-40f;
  const simd::Floats a = simd::load(first, simd::Full{0}), b = simd::load(second, simd::Full{0});
  const auto rounded = [](float x) { return Bfloat16(std::abs(x) < 0x1p-126f ? 0.0f : x).bits; };
  const auto neighbours =
      std::bit_cast<std::array<Bfloat16Pair, simd::width>>(simd::round_neighbours(a, b));
  const auto rows = std::bit_cast<std::array<Bfloat16Pair, simd::width>>(simd::round_pairs(a, b));
  for (std::size_t i = 0; i < simd::width; ++i) {
    CAPTURE(i);
    const float* const row = i < 8 ? first + 2 * i : second + 2 * (i - 8);
    CHECK(neighbours[i].first.bits == rounded(row[0]));
    CHECK(neighbours[i].second.bits == rounded(row[1]));
    CHECK(rows[i].first.bits == rounded(first[i]));
    CHECK(rows[i].second.bits == rounded(second[i]));
  }
}

TEST_CASE("eight pairs are multiplied like sixteen") {
  Bfloat16Pair pairs[simd::width];
  for (int i = 0; i < simd::width; ++i) pairs[i] = numbered(i);
  const Bfloat16Pair factor{Bfloat16(3.0f), Bfloat16(0.5f)};
  float all[simd::width], eight[8];
  simd::store_all(all, simd::multiply_add(simd::broadcast(factor), simd::load(pairs, simd::Full{0}),
                                          simd::Floats{}));
  simd::store_all(
      eight, simd::multiply_add(simd::broadcast<simd::NarrowWords>(factor),
                                simd::load_all<simd::NarrowWords>(pairs), simd::NarrowFloats{}));
  CHECK(std::memcmp(all, eight, sizeof eight) == 0);
}
#endif

}  // namespace simd_pairs_tests
