// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/few_rows.hpp>

#include <catch2/catch.hpp>
#include <cmath>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

#include "../../message_of.hpp"

using namespace weft;
using namespace weft::testing;
using ops::detail::most_few_rows;
using ops::detail::multiply_few_rows;

TEST_CASE("few rows times a transposed matrix are the product, whatever lies between rows") {
  // Sums of K products and an old value: K + 1 roundings of their magnitudes.
  Cpu device;
  constexpr index_t gap = 3;
  for (index_t M = 1; M <= most_few_rows; ++M) {
    for (const index_t N : {0, 1, 7, 8, 21}) {
      for (const index_t K : {0, 1, 16, 37, 64}) {
        for (const bool accumulate : {false, true}) {
          CAPTURE(M, N, K, accumulate);
          const auto a = random_tensor(device, {M, K + gap}, 1);
          const auto b = random_tensor(device, {N, K + gap}, 2);
          const auto c = random_tensor(device, {M, N + gap}, 3);
          Matrix should = matrix(c);
          Matrix bounds(M, N + gap, 0.0);  // what lies beside the result stays as it is
          const Matrix left = matrix(a), right = matrix(b);
          for (index_t i = 0; i < M; ++i) {
            for (index_t j = 0; j < N; ++j) {
              double sum = accumulate ? should(i, j) : 0.0;
              double size = std::abs(sum);
              for (index_t k = 0; k < K; ++k) {
                sum += left(i, k) * right(j, k);
                size += std::abs(left(i, k) * right(j, k));
              }
              should(i, j) = sum;
              bounds(i, j) = static_cast<double>(K + 1) * unit_roundoff * size;
            }
          }
          multiply_few_rows(M, N, K, a.data(), K + gap, b.data(), K + gap, c.data(), N + gap,
                            accumulate);
          CHECK(difference(c, should, bounds) == "");
        }
      }
    }
  }
}

TEST_CASE("a row of few is the same beside others, and so is a part of its columns") {
  Cpu device;
  constexpr index_t N = 29, K = 77;
  const auto a = random_tensor(device, {most_few_rows, K}, 1), b = random_tensor(device, {N, K}, 2);
  const auto all = nan_tensor(device, {most_few_rows, N});
  multiply_few_rows(most_few_rows, N, K, a.data(), K, b.data(), K, all.data(), N, false);
  for (index_t M = 1; M < most_few_rows; ++M) {
    for (const index_t first : {0, 5}) {
      CAPTURE(M, first);
      const auto some = nan_tensor(device, {M, N});
      for (const auto& [begin, end] : {std::pair{index_t{0}, first}, std::pair{first, N}}) {
        multiply_few_rows(M, end - begin, K, a.data(), K, b.data() + begin * K, K,
                          some.data() + begin, N, false);
      }
      CHECK(bit_difference(some, all.slice(0, M)) == "");
    }
  }
}

TEST_CASE("too many rows are refused") {
  CHECK(message_of<ArgumentError>([] {
          multiply_few_rows(6, 0, 0, nullptr, 0, nullptr, 0, nullptr, 0, false);
        }) == "multiply_few_rows: 6 rows");
}
