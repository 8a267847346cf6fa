// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/tile.hpp>

#include <catch2/catch.hpp>
#include <cmath>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

namespace cpu_tile_tests {

using namespace weft;
using namespace weft::testing;
using ops::detail::multiply_tile;
using ops::detail::narrowest;
using ops::detail::Strided;

TEST_CASE("a tile is the product, whatever lies beside it") {
  // Sums of K products and an old value: K + 1 roundings of their magnitudes.
  Cpu device;
  constexpr index_t gap = 3;
  for (const index_t M : {0, 1, 2, 5, 12, 13, 16, 24, 30}) {
    for (const index_t N : {index_t{16}, narrowest, index_t{32}, index_t{48}, 7 * narrowest,
                            index_t{64}, index_t{112}, index_t{128}}) {
      for (const index_t K : {0, 1, 20}) {
        for (const bool accumulate : {false, true}) {
          CAPTURE(M, N, K, accumulate);
          const auto a = random_tensor(device, {M, K}, 1);
          const auto b = random_tensor(device, {K, N + gap}, 2);
          const auto c = random_tensor(device, {M, N + gap}, 3);
          Matrix should = matrix(c);
          Matrix bounds(M, N + gap, 0.0);  // what lies beside the tile stays as it is
          const Matrix sums = product(matrix(a), matrix(b));
          const Matrix sizes = product(magnitudes(matrix(a)), magnitudes(matrix(b)));
          for (index_t i = 0; i < M; ++i) {
            for (index_t j = 0; j < N; ++j) {
              const double old = accumulate ? should(i, j) : 0.0;
              should(i, j) = old + sums(i, j);
              bounds(i, j) = static_cast<double>(K + 1) * unit_roundoff *
                             (std::abs(old) + sizes(i, j));
            }
          }
          multiply_tile(M, N, K, {a.data(), K, 1}, b.data(), N + gap, c.data(), N + gap,
                        accumulate);
          CHECK(difference(c, should, bounds) == "");
        }
      }
    }
  }
}

TEST_CASE("a transposed matrix is the same memory with other strides") {
  Cpu device;
  const auto a = random_tensor(device, {7, 29}, 1), b = random_tensor(device, {7, 48}, 2);
  const auto c = nan_tensor(device, {29, 48});
  multiply_tile(29, 48, 7, {a.data(), 1, 29}, b.data(), 48, c.data(), 48, false);
  const Matrix transpose = transposed(matrix(a));
  Matrix bounds = product(magnitudes(transpose), magnitudes(matrix(b)));
  for (double& bound : bounds.elements) bound *= 7 * unit_roundoff;
  CHECK(difference(c, product(transpose, matrix(b)), bounds) == "");
}

TEST_CASE("a row of a tile does not depend on how many others there are") {
  Cpu device;
  for (const index_t N : {index_t{112}, narrowest}) {
    CAPTURE(N);
    const auto a = random_tensor(device, {31, 50}, 1), b = random_tensor(device, {50, N}, 2);
    const auto whole = nan_tensor(device, {31, N});
    multiply_tile(31, N, 50, {a.data(), 50, 1}, b.data(), N, whole.data(), N, false);
    for (index_t i = 0; i < 31; ++i) {
      const auto row = nan_tensor(device, {1, N});
      multiply_tile(1, N, 50, {a.data() + i * 50, 50, 1}, b.data(), N, row.data(), N, false);
      CHECK(bit_difference(row, whole.slice(i, i + 1)) == "");
    }
  }
}

}  // namespace cpu_tile_tests
