// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

namespace weft::testing {

//! What is wrong with C = A B' or C += A B', whose rows have a gap between them, by
//! `multiply(M, N, K, a, lda, b, ldb, c, ldc, accumulate)`.
//!
//! Sums of K products and an old value: K + 1 roundings of their magnitudes.
template <class Multiply>
std::string product_of_rows_difference(index_t M, index_t N, index_t K, bool accumulate,
                                       const Multiply& multiply) {
  Cpu device;
  constexpr index_t gap = 3;
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
  multiply(M, N, K, a.data(), K + gap, b.data(), K + gap, c.data(), N + gap, accumulate);
  return difference(c, should, bounds);
}

//! Checks that rows have the same bits beside others, and in two parts of the columns.
template <class Multiply>
void check_rows_alone(index_t most_rows, index_t K, const Multiply& multiply) {
  Cpu device;
  constexpr index_t N = 29;
  const auto a = random_tensor(device, {most_rows, K}, 1), b = random_tensor(device, {N, K}, 2);
  const auto all = nan_tensor(device, {most_rows, N});
  multiply(most_rows, N, K, a.data(), K, b.data(), K, all.data(), N, false);
  for (index_t M = 1; M < most_rows; M += 1 + most_rows / 8) {
    for (const index_t first : {0, 5}) {
      CAPTURE(M, K, first);
      const auto some = nan_tensor(device, {M, N});
      for (const auto& [begin, end] : {std::pair{index_t{0}, first}, std::pair{first, N}}) {
        multiply(M, end - begin, K, a.data(), K, b.data() + begin * K, K, some.data() + begin, N,
                 false);
      }
      CHECK(bit_difference(some, all.slice(0, M)) == "");
    }
  }
}

}  // namespace weft::testing
