// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/rotary.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace rotary_tests {

using namespace weft;
using namespace weft::testing;
using ops::HeadRows;
using ops::Turn;

namespace {

using Lengths = std::vector<index_t>;

constexpr index_t beside = 3;  // columns behind the heads that belong to nobody

//! base^(-i / pairs), as an initializer has it.
Tensor<float> frequencies_of(Cpu& device, index_t pairs) {
  std::vector<float> frequencies;
  for (index_t i = 0; i < pairs; ++i) {
    frequencies.push_back(
        static_cast<float>(std::pow(100.0, -static_cast<double>(i) / static_cast<double>(pairs))));
  }
  return to_device<float>(device, frequencies, {pairs});
}

}  // namespace

TEST_CASE("pairs of channels are turned by their position's angles") {
  // An angle below 5 has one rounding, cosine and sine one each, the sum of two products three; all
  // of numbers below 2, times the angle's own size.
  constexpr double bound = (5 + 2 + 3) * 2 * unit_roundoff;
  Cpu device;
  const auto layout = make_layout(device, Lengths{3, 1, 6}, 17);
  const index_t N = layout->rows();
  for (const index_t heads : {1, 3, 4, 5}) {
    for (const index_t P : {1, 4, 15, 16, 17, 40}) {
      CAPTURE(heads, P);
      const index_t width = 2 * heads * P + beside;
      const auto x = random_tensor(device, {N, width}, 1), f = frequencies_of(device, P);
      const Matrix in = matrix(x), frequencies = matrix(f);
      ops::rotary(device, layout->keys, f, HeadRows<float>{x.data(), width}, heads, Turn::forth);
      const Matrix should = matrix(N, width, [&](index_t n, index_t c) {
        if (c >= 2 * heads * P) return in(n, c);
        const index_t i = c % P;
        const bool is_second = c % (2 * P) >= P;
        const index_t b = n < 3 ? 0 : n < 4 ? 1 : 2;
        const double angle = static_cast<double>(n - layout->begin(b)) * frequencies(0, i);
        const double other = in(n, is_second ? c - P : c + P);
        return in(n, c) * std::cos(angle) + (is_second ? 1 : -1) * other * std::sin(angle);
      });
      CHECK(difference(x, should, bound) == "");
      ops::rotary(device, layout->keys, f, HeadRows<float>{x.data(), width}, heads, Turn::back);
      CHECK(difference(x, in, 2 * bound) == "");
    }
  }
}

TEST_CASE("the first position is not turned, not by a bit") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{1, 1});
  const auto x = random_tensor(device, {2, 8}, 1), f = frequencies_of(device, 4);
  const auto before = to_host(x);
  ops::rotary(device, layout->keys, f, HeadRows<float>{x.data(), 8}, 1, Turn::forth);
  CHECK(to_host(x) == before);
}

TEST_CASE("far positions are turned by their angles in float") {
  // 131,071 times a frequency of 1 or less: what the angle's rounding leaves is what there is.
  Cpu device;
  const auto layout = make_layout(device, Lengths{131'072});
  const auto x = random_tensor(device, {131'072, 8}, 1), f = frequencies_of(device, 4);
  const Matrix first = matrix(x), frequencies = matrix(f);
  ops::rotary(device, layout->keys, f, HeadRows<float>{x.data(), 8}, 1, Turn::forth);
  for (const index_t n : {8'191, 65'536, 131'071}) {
    for (index_t i = 0; i < 4; ++i) {
      const float angle = static_cast<float>(n) * static_cast<float>(frequencies(0, i));
      const double cosine = std::cos(static_cast<double>(angle)),
                   sine = std::sin(static_cast<double>(angle));
      CAPTURE(n, i);
      CHECK(static_cast<double>(x.data()[n * 8 + i]) ==
            Approx(first(n, i) * cosine - first(n, 4 + i) * sine).margin(6 * unit_roundoff));
    }
  }
}

TEST_CASE("rotary positions have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto layout = make_layout(device, Lengths{200, 100});
          const auto x = random_tensor(device, {300, 96}, 1), f = frequencies_of(device, 12);
          ops::rotary(device, layout->keys, f, HeadRows<float>{x.data(), 96}, 4, Turn::forth);
          return std::vector{x};
        }) == "");
}

TEST_CASE("heads without pairs of channels, or without room for them, are refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{2});
  const auto x = nan_tensor(device, {2, 4}), none = nan_tensor(device, {0});
  CHECK(message_of<ShapeError>([&] {
          ops::rotary(device, layout->keys, none, HeadRows<float>{x.data(), 4}, 2, Turn::forth);
        }) == "rotary: 2 heads of 0 pairs of channels in rows of 4");
  const auto two = nan_tensor(device, {2});
  CHECK(message_of<ShapeError>([&] {
          ops::rotary(device, layout->keys, two, HeadRows<float>{x.data(), 4}, 2, Turn::forth);
        }) == "rotary: 2 heads of 2 pairs of channels in rows of 4");
}

}  // namespace rotary_tests
