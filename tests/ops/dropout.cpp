// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/dropout.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace dropout_tests {

using namespace weft;
using namespace weft::testing;
using ops::DropoutMask;

namespace {

using Lengths = std::vector<index_t>;
using Ids = std::vector<std::uint32_t>;

const RandomKey key(1234, 56);

Tensor<float> ones(Cpu& device, index_t N, index_t C) {
  return to_device<float>(device, std::vector<float>(static_cast<std::size_t>(N * C), 1.0f),
                          {N, C});
}

//! The factors of the rows of a layout.
Tensor<float> factors(Cpu& device, const DropoutMask& mask, const LayoutPointer<>& layout,
                      index_t C) {
  const auto y = nan_tensor(device, {layout->rows(), C});
  ops::dropout(device, mask, layout->keys, ones(device, layout->rows(), C), y);
  return y;
}

//! How far a count of successes may be from n p: 5 standard deviations, exceeded once in 10^6.
double five_deviations(double n, double p) { return 5.0 * std::sqrt(n * p * (1.0 - p)); }

index_t zeros(const std::vector<float>& values) {
  return std::count(values.begin(), values.end(), 0.0f);
}

}  // namespace

TEST_CASE("every element finds the factor that its own counter decides") {
  Cpu device;
  const DropoutMask mask(0.3f, key, 17);
  const auto layout = make_layout(device, Lengths{1, 0, 5}, Ids{90, 3, 0xffffffffu});
  const auto keys = to_host(layout->keys);
  for (const index_t C : {0, 1, 15, 16, 17, 127, 128, 129, 144, 512}) {
    const Matrix should = matrix(6, C, [&](index_t n, index_t c) {
      return dropout_factor(mask, keys[static_cast<std::size_t>(n)], c);
    });
    CAPTURE(C);
    CHECK(difference(factors(device, mask, layout, C), should, 0.0) == "");
  }
}

TEST_CASE("a sentence finds the same mask however it is packed") {
  Cpu device;
  const DropoutMask mask(0.1f, key, 3);
  const index_t C = 150;
  const auto together =
      factors(device, mask, make_layout(device, Lengths{4, 7, 2}, Ids{10, 11, 12}), C);
  const auto alone = factors(device, mask, make_layout(device, Lengths{7}, Ids{11}), C);
  const auto reordered =
      factors(device, mask, make_layout(device, Lengths{2, 0, 7, 4}, Ids{12, 5, 11, 10}), C);
  CHECK(bit_difference(together.slice(4, 11), alone) == "");
  CHECK(bit_difference(together.slice(4, 11), reordered.slice(2, 9)) == "");
  CHECK(bit_difference(together.slice(0, 4), reordered.slice(9, 13)) == "");
  // A sentence of which the first tokens are the same has the same masks there.
  CHECK(bit_difference(factors(device, mask, make_layout(device, Lengths{5}, Ids{11}), C),
                       alone.slice(0, 5)) == "");
}

TEST_CASE("columns from a later group on find the masks of those columns") {
  Cpu device;
  const DropoutMask mask(0.4f, key, 3);
  const RowKey row{5, 6};
  const auto layout = make_layout(device, Lengths{7}, Ids{5});
  const auto whole = factors(device, mask, layout, 300).slice(6, 7);
  for (const index_t first : {0, 128, 256}) {
    std::vector<float> part(static_cast<std::size_t>(300 - first), -1.0f);
    mask.for_each(
        CpuLanes{}, row, 300 - first,
        [&](auto c, auto factor) { simd::store(part.data(), c, factor); }, first);
    const auto found = to_device<float>(device, part, {1, 300 - first});
    const auto expected = to_device<float>(
        device, std::span<const float>(whole.data() + first, part.size()), {1, 300 - first});
    CHECK(bit_difference(found, expected) == "");
  }
}

TEST_CASE("the share of dropped elements is the probability, in every column and row") {
  Cpu device;
  constexpr index_t N = 500, C = 256;
  const auto layout = make_layout(device, Lengths{200, 300});
  for (const float p : {0.1f, 0.5f, 0.9f}) {
    const DropoutMask mask(p, key, 1);
    const Matrix y = matrix(factors(device, mask, layout, C));
    const auto dropped = [&](index_t r, index_t R, index_t c, index_t columns) {
      index_t count = 0;
      for (const double factor : block(y, r, R, c, columns).elements) count += factor == 0.0;
      return static_cast<double>(count);
    };
    const double share = static_cast<double>(mask.threshold) / 65536.0;
    CHECK(std::abs(share - static_cast<double>(p)) <= 0x1p-17);
    CHECK(std::abs(dropped(0, N, 0, C) - N * C * share) < five_deviations(N * C, share));
    for (index_t c = 0; c < C; c += 16) {  // each of the eight half-words, twice
      CHECK(std::abs(dropped(0, N, c, 16) - N * 16 * share) < five_deviations(N * 16, share));
    }
    for (index_t r = 0; r < N; r += 50) {
      CHECK(std::abs(dropped(r, 50, 0, C) - 50 * C * share) < five_deviations(50 * C, share));
    }
    // What survives makes up for what was dropped, exactly on average.
    CHECK(static_cast<double>(mask.scale) * (1.0 - share) ==
          Approx(1.0).epsilon(2 * unit_roundoff));
  }
}

TEST_CASE("other seeds, steps, operations, sentences, positions and channels are independent") {
  // Two independent masks agree where both drop or both keep.
  Cpu device;
  constexpr double p = 0.25;
  constexpr index_t N = 100, C = 256;
  const auto base = make_layout(device, Lengths{N}, Ids{7});
  const DropoutMask mask(0.25f, key, 5);
  const Matrix y = matrix(factors(device, mask, base, C));
  const auto agreement = [&](const Matrix& z) {
    index_t count = 0;
    for (std::size_t i = 0; i < z.elements.size(); ++i) count += y.elements[i] == z.elements[i];
    const double chance = p * p + (1 - p) * (1 - p);
    const auto n = static_cast<double>(z.size());
    return std::abs(static_cast<double>(count) - n * chance) / five_deviations(n, chance);
  };
  const auto of = [&](const RandomKey& other_key, std::uint32_t operation, std::uint32_t sentence) {
    return matrix(factors(device, DropoutMask(0.25f, other_key, operation),
                          make_layout(device, Lengths{N}, Ids{sentence}), C));
  };
  CHECK(agreement(y) > 1.0);
  CHECK(agreement(of(RandomKey(1235, 56), 5, 7)) < 1.0);
  CHECK(agreement(of(RandomKey(1234, 57), 5, 7)) < 1.0);
  CHECK(agreement(of(key, 6, 7)) < 1.0);
  CHECK(agreement(of(key, 5, 8)) < 1.0);
  const auto shifted = [&](index_t rows, index_t columns) {
    return matrix(N, C, [&](index_t n, index_t c) {
      return y((n + rows) % N, (c + columns) % C);
    });
  };
  CHECK(agreement(shifted(1, 0)) < 1.0);
  for (const index_t columns : {1, 16, 32, 128}) CHECK(agreement(shifted(0, columns)) < 1.0);
}

TEST_CASE("nothing is dropped by default, nor with probability 0") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{3});
  for (const DropoutMask& mask : {DropoutMask(), DropoutMask(0.0f, key, 1)}) {
    CHECK_FALSE(mask.active());
    CHECK(bit_difference(factors(device, mask, layout, 37), ones(device, 3, 37)) == "");
  }
}

TEST_CASE("a probability close to 1 keeps one element of 65536") {
  Cpu device;
  const DropoutMask mask(0.9999999f, key, 1);
  CHECK(mask.scale == 65536.0f);
  const auto y = to_host(factors(device, mask, make_layout(device, Lengths{600}), 512));
  const double kept = static_cast<double>(static_cast<index_t>(y.size()) - zeros(y));
  CHECK(std::abs(kept - 600 * 512 / 65536.0) < five_deviations(600 * 512, 1 / 65536.0));
}

TEST_CASE("a probability outside [0, 1) is refused") {
  for (const float p : {-0.1f, 1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(message_of<ArgumentError>([&] { return DropoutMask(p, key, 1).scale; }) ==
          text("dropout: a probability of ", p, ", needs 0 <= p < 1"));
  }
}

TEST_CASE("dropout is its own adjoint, in place too") {
  Cpu device;
  const DropoutMask mask(0.5f, key, 2);  // a scale of 2 rounds nothing
  const auto layout = make_layout(device, Lengths{3, 9});
  const auto x = random_tensor(device, {12, 50}, 1), dy = random_tensor(device, {12, 50}, 2);
  const auto y = nan_tensor(device, {12, 50}), dx = nan_tensor(device, {12, 50});
  ops::dropout(device, mask, layout->keys, x, y);
  ops::dropout(device, mask, layout->keys, dy, dx);
  CHECK(inner(matrix(y), matrix(dy)) == inner(matrix(x), matrix(dx)));
  ops::dropout(device, mask, layout->keys, x, x);
  CHECK(bit_difference(x, y) == "");
}

TEST_CASE("dropout has the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          return std::vector{factors(device, DropoutMask(0.1f, key, 9),
                                     make_layout(device, Lengths{400, 1, 300}), 70)};
        }) == "");
}

TEST_CASE("rows without keys and outputs of another shape are refused") {
  Cpu device;
  const auto layout = make_layout(device, Lengths{3});
  const auto x = nan_tensor(device, {4, 2}), y = nan_tensor(device, {3, 2});
  CHECK(message_of<ShapeError>([&] { ops::dropout(device, {}, layout->keys, x, x); }) ==
        "dropout: keys is (3), should be (4)");
  CHECK(message_of<ShapeError>([&] { ops::dropout(device, {}, layout->keys, x, y); }) ==
        "dropout: y is (3, 2), should be (4, 2)");
}

}  // namespace dropout_tests
