// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/rows.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace rows_tests {

using namespace weft;
using namespace weft::testing;

namespace {

Tensor<index_t> indices(Cpu& device, const std::vector<index_t>& values) {
  return to_device<index_t>(device, values, {static_cast<index_t>(values.size())});
}

//! One rounding of each element.
Matrix one_rounding(const Matrix& should) {
  Matrix bounds = magnitudes(should);
  for (double& bound : bounds.elements) bound *= unit_roundoff;
  return bounds;
}

}  // namespace

TEST_CASE("adding rows, and a bias to each row, rounds once") {
  Cpu device;
  for (const index_t N : {0, 1, 5}) {
    for (const index_t C : {0, 1, 15, 16, 17, 512}) {
      CAPTURE(N, C);
      const auto x = random_tensor(device, {N, C}, 1), bias = random_tensor(device, {C}, 2);
      const auto sum = random_tensor(device, {N, C}, 3), shifted = random_tensor(device, {N, C}, 3);
      const Matrix a = matrix(x), b = matrix(bias), y = matrix(sum);
      ops::add(device, x, sum);
      ops::add_bias(device, bias, shifted);
      const Matrix sums = matrix(N, C, [&](index_t n, index_t c) { return y(n, c) + a(n, c); });
      const Matrix shifts = matrix(N, C, [&](index_t n, index_t c) { return y(n, c) + b(0, c); });
      CHECK(difference(sum, sums, one_rounding(sums)) == "");
      CHECK(difference(shifted, shifts, one_rounding(shifts)) == "");
    }
  }
}

TEST_CASE("rows are gathered by their numbers, as often as they are named") {
  Cpu device;
  for (const index_t C : {1, 16, 21}) {
    const auto x = random_tensor(device, {4, C}, 1), y = nan_tensor(device, {5, C});
    const std::vector<index_t> index{3, 0, 3, 1, 3};
    ops::gather_rows(device, x, indices(device, index), y);
    for (index_t n = 0; n < 5; ++n) {
      const index_t from = index[static_cast<std::size_t>(n)];
      CHECK(bit_difference(y.slice(n, n + 1), x.slice(from, from + 1)) == "");
    }
  }
  ops::gather_rows(device, nan_tensor(device, {4, 3}), indices(device, {}),
                   nan_tensor(device, {0, 3}));
}

TEST_CASE("rows are scattered to their numbers, the others stay") {
  Cpu device;
  for (const index_t C : {1, 16, 21}) {
    const auto x = random_tensor(device, {2, C}, 1), y = random_tensor(device, {4, C}, 2);
    const auto before = to_host(y);
    ops::scatter_rows(device, x, indices(device, {3, 1}), y);
    CHECK(bit_difference(y.slice(3, 4), x.slice(0, 1)) == "");
    CHECK(bit_difference(y.slice(1, 2), x.slice(1, 2)) == "");
    for (const index_t n : {0, 2}) {
      const auto row = to_device<float>(
          device, std::span(before).subspan(static_cast<std::size_t>(n * C),
                                            static_cast<std::size_t>(C)), {1, C});
      CHECK(bit_difference(y.slice(n, n + 1), row) == "");
    }
  }
}

TEST_CASE("scattering is the adjoint of gathering") {
  Cpu device;
  const auto index = indices(device, {4, 0, 6});
  const auto x = random_tensor(device, {7, 19}, 1), dy = random_tensor(device, {3, 19}, 2);
  const auto y = nan_tensor(device, {3, 19});
  const auto dx = to_device<float>(device, std::vector<float>(7 * 19, 0.0f), {7, 19});
  ops::gather_rows(device, x, index, y);
  ops::scatter_rows(device, dy, index, dx);
  CHECK(inner(matrix(y), matrix(dy)) == Approx(inner(matrix(x), matrix(dx))).epsilon(1e-14));
}

TEST_CASE("single elements are gathered too, of any type") {
  Cpu device;
  const auto x = to_device<token_t>(device, std::vector<token_t>{10, 11, 12}, {3});
  const Tensor<token_t> y(device, {4});
  ops::gather(device, x, indices(device, {2, 2, 0, 1}), y);
  CHECK(to_host(y) == std::vector<token_t>{12, 12, 10, 11});
}

TEST_CASE("rows have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto y = random_tensor(device, {2000, 33}, 1);
          ops::add(device, random_tensor(device, {2000, 33}, 2), y);
          ops::add_bias(device, random_tensor(device, {33}, 3), y);
          return std::vector{y};
        }) == "");
}

TEST_CASE("rows that do not fit are refused") {
  Cpu device;
  const auto x = nan_tensor(device, {2, 3}), y = nan_tensor(device, {3, 3});
  const auto index = indices(device, {0, 1});
  CHECK(message_of<ShapeError>([&] { ops::add(device, x, y); }) ==
        "add: x is (2, 3), should be (3, 3)");
  CHECK(message_of<ShapeError>([&] { ops::add_bias(device, nan_tensor(device, {2}), x); }) ==
        "add_bias: bias is (2), should be (3)");
  CHECK(message_of<ShapeError>([&] { ops::gather_rows(device, x, index, y); }) ==
        "gather_rows: y is (3, 3), should be (2, 3)");
  CHECK(message_of<ShapeError>([&] { ops::scatter_rows(device, y, index, x); }) ==
        "scatter_rows: x is (3, 3), should be (2, 3)");
  CHECK(message_of<ShapeError>([&] { ops::gather(device, x, index, y); }) ==
        "gather: y is (3, 3), should be (2)");
}

TEST_CASE("rows are copied") {
  Cpu device;
  const auto x = random_tensor(device, {5, 33}, 1);
  const Tensor<float> y(device, {5, 33});
  ops::copy(device, x, y);
  CHECK(to_host(y) == to_host(x));
  CHECK(message_of<ShapeError>([&] { ops::copy(device, x, Tensor<float>(device, {5, 32})); }) ==
        "copy: x is (5, 33), should be (5, 32)");
}

}  // namespace rows_tests
