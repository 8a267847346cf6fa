// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/maximum_inner_product.hpp>

#include <weft/testing/random.hpp>

#include <catch2/catch.hpp>

#include <limits>
#include <tuple>
#include <vector>

#include "../../message_of.hpp"

namespace cpu_maximum_inner_product_tests {

using namespace weft;
using namespace weft::testing;
using ops::MaximumInnerProduct;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

using Found = std::vector<token_t>;

Tensor<float> matrix(Cpu& device, index_t columns, const std::vector<float>& values) {
  return to_device<float>(device, values, {std::ssize(values) / columns, columns});
}

//! What stands in `columns` columns of each row.
std::vector<float> rows_of(const std::vector<float>& values, index_t columns) {
  std::vector<float> all;
  for (const float value : values) all.insert(all.end(), static_cast<std::size_t>(columns), value);
  return all;
}

Found find(Cpu& device, const Tensor<float>& w, const Tensor<float>& x,
           const std::vector<float>& bias = {}, const Found& excluded = {}) {
  const MaximumInnerProduct maximum(device, w);
  if (bias.empty()) return maximum.find(device, x, {}, excluded);
  return maximum.find(device, x, View<const float>(bias.data(), {std::ssize(bias)}), excluded);
}

//! All sums in double, of which the largest one's place is returned.
Found naive(const Tensor<float>& w, const Tensor<float>& x, const std::vector<float>& bias) {
  Found found;
  for (index_t n = 0; n < x.rows(); ++n) {
    double largest = -std::numeric_limits<double>::infinity();
    found.push_back(-1);
    for (index_t v = 0; v < w.rows(); ++v) {
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<std::size_t>(v)]);
      for (index_t c = 0; c < w.columns(); ++c) {
        sum += static_cast<double>(x.data()[n * w.columns() + c]) *
               static_cast<double>(w.data()[v * w.columns() + c]);
      }
      if (sum > largest) {
        largest = sum;
        found.back() = static_cast<token_t>(v);
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the largest product is that of all products in double") {
  Cpu device(2);
  for (const auto& [N, V, C] : {std::tuple<index_t, index_t, index_t>{1, 1, 1},
                                {1, 255, 16},
                                {5, 256, 31},
                                {6, 257, 64},
                                {64, 1000, 33},
                                {130, 513, 512}}) {
    CAPTURE(N, V, C);
    const auto w = random_tensor(device, {V, C}, 1), x = random_tensor(device, {N, C}, 2);
    CHECK(find(device, w, x) == naive(w, x, {}));
    const auto bias = random_values(V, 3, -5.0f, 5.0f);
    CHECK(find(device, w, x, bias) == naive(w, x, bias));
  }
}

TEST_CASE("rows that are the same when rounded are told apart") {
  Cpu device;
  constexpr index_t C = 48;
  std::vector<float> values;
  for (int v = 0; v < 600; ++v) values.push_back(1.0f + 0x1p-18f * static_cast<float>(v * 7 % 600));
  const auto w = matrix(device, C, rows_of(values, C));
  CHECK(find(device, w, matrix(device, C, rows_of({1.0f, -1.0f}, C))) == Found{257, 0});
}

TEST_CASE("a row that rounding makes smaller than another is found") {
  Cpu device;
  // Numbers of 7 bits of fraction are u apart between 1 and 2. The first row's and its columns of x
  // are rounded down by nearly half of that, the second row's and its columns up; the last column
  // makes the first row the better one: (1 + 0.49 u)^2 + 0.1 u > (1 + 0.51 u)^2.
  constexpr float u = 0x1p-7f;
  constexpr index_t half = 32, C = 2 * half + 1;
  std::vector<float> w(2 * C), x(C);
  for (std::size_t c = 0; c < 2 * half; ++c) {
    const bool is_first = c < half;
    x[c] = 1.0f + (is_first ? 0.49f : 0.51f) * u;
    w[is_first ? c : C + c] = x[c];
  }
  w[C - 1] = half * 0.1f * u;
  x[C - 1] = 1.0f;
  const auto scaled = [](std::vector<float> values, float by) {
    for (float& value : values) value *= by;
    return values;
  };
  // Squares of 1e-25 are too small for floats, and those of 1e25 too large.
  for (const float of_w : {1.0f, 1e-25f, 1e10f, 1e25f}) {
    for (const float of_x : {1.0f, 1e-25f, 1e10f}) {
      CAPTURE(of_w, of_x);
      if (of_w * of_x < 1e-37f) continue;
      CHECK(find(device, matrix(device, C, scaled(w, of_w)), matrix(device, C, scaled(x, of_x))) ==
            Found{0});
    }
  }
}

TEST_CASE("of equal products the first is found, and none that is excluded") {
  Cpu device;
  const auto w = matrix(device, 1, {1.0f, 3.0f, 3.0f, 2.0f, 3.0f});
  const auto x = matrix(device, 1, {1.0f, -1.0f});
  CHECK(find(device, w, x) == Found{1, 0});
  CHECK(find(device, w, x, {}, {1, 0}) == Found{2, 3});
  CHECK(find(device, w, x, {}, {1, 2, 4, -1, 5}) == Found{3, 0});
  CHECK(find(device, w, x, {}, {0, 1, 2, 3, 4}) == Found{-1, -1});
  CHECK(find(device, w, x, {0.0f, 0.0f, 0.0f, 1.5f, 0.0f}) == Found{3, 3});
}

TEST_CASE("where nearly all are excluded the largest of the few others is found") {
  Cpu device(2);
  constexpr index_t V = 700, first = 650, C = 40;
  const auto w = random_tensor(device, {V, C}, 4), x = random_tensor(device, {9, C}, 5);
  Found excluded;
  for (token_t v = first; v-- > 0;) excluded.insert(excluded.end(), {v, v});
  Found expected = naive(w.slice(first, V), x, {});
  for (token_t& v : expected) v += first;
  CHECK(find(device, w, x, {}, excluded) == expected);
}

TEST_CASE("a sum that is no number, or infinite, is found by nobody") {
  Cpu device;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto w = matrix(device, 2, {1.0f, 0.0f, 0.0f, 1.0f, -1.0f, 0.0f});
  CHECK(find(device, w, matrix(device, 2, {1.0f, 2.0f, nan, 0.0f, 2.0f, 1.0f})) == Found{1, -1, 0});
  CHECK(find(device, matrix(device, 1, {1.0f, nan, 2.0f}), matrix(device, 1, {1.0f})) == Found{-1});
  CHECK(find(device, w, matrix(device, 2, {1.0f, 2.0f}), {0.0f, infinity, 0.0f}) == Found{-1});
  CHECK(find(device, w, matrix(device, 2, {1.0f, 2.0f}), {0.0f, -infinity, 0.0f}) == Found{0});
  CHECK(find(device, w, matrix(device, 2, {1.0f, 2.0f}), {0.0f, nan, 0.0f}) == Found{-1});
  CHECK(find(device, w, matrix(device, 2, {1.0f, 2.0f}), {0.0f, nan, 0.0f}, {1}) == Found{-1});
}

TEST_CASE("numbers of any size are multiplied") {
  Cpu device;
  const float most = std::numeric_limits<float>::max();
  // The largest floats are infinite when rounded, those below 2^-126 may be 0.
  CHECK(find(device, matrix(device, 1, {1.0f, most, 2.0f}), matrix(device, 1, {1e-38f})) ==
        Found{1});
  CHECK(find(device, matrix(device, 2, {1e-30f, 0.0f, 0.0f, 3e-30f}),
             matrix(device, 2, {4e7f, 1e7f, 1e-12f, 1e-12f})) == Found{0, 1});
  CHECK(find(device, matrix(device, 1, {1e-40f, 3e-40f, 2e-40f}), matrix(device, 1, {1e6f})) ==
        Found{1});
  CHECK(find(device, matrix(device, 1, {1.0f, 3.0f}), matrix(device, 1, {1e-40f})) == Found{1});
}

TEST_CASE("what a row finds does not depend on the others") {
  Cpu device;
  const auto w = random_tensor(device, {700, 40}, 4), x = random_tensor(device, {9, 40}, 5);
  const Found together = find(device, w, x);
  for (index_t n = 0; n < 9; ++n) {
    const auto row = matrix(device, 40, {x.data() + n * 40, x.data() + (n + 1) * 40});
    CHECK(find(device, w, row) == Found{together[static_cast<std::size_t>(n)]});
  }
}

TEST_CASE("a matrix of other columns is refused, and a bias of other words") {
  Cpu device;
  CHECK(
      message_of<ShapeError>([&] {
        (void)find(device, matrix(device, 2, {1.0f, 0.0f}), matrix(device, 3, rows_of({1.0f}, 3)));
      }) == "MaximumInnerProduct: x is (1, 3), the matrix (1, 2)");
  CHECK(message_of<ShapeError>([&] {
          (void)find(device, matrix(device, 1, {1.0f, 0.0f}), matrix(device, 1, {1.0f}), {2.0f});
        }) == "MaximumInnerProduct: bias is (1), should be (2)");
}

}  // namespace cpu_maximum_inner_product_tests
