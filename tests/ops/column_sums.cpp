// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/column_sums.hpp>

#include <catch2/catch.hpp>
#include <cmath>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace column_sums_tests {

using namespace weft;
using namespace weft::testing;
using ops::Write;

TEST_CASE("sums over rows agree with a loop in double") {
  // N additions, or N + 1 with the old value, each rounding what was added so far.
  Cpu device;
  for (const index_t N : {0, 1, 2, 100}) {
    for (const index_t C : {0, 1, 15, 16, 17, 512}) {
      for (const Write write : {Write::replace, Write::accumulate}) {
        const bool add = write == Write::accumulate;
        CAPTURE(N, C, add);
        const auto x = random_tensor(device, {N, C}, 1);
        const Matrix terms = matrix(x);
        const auto sums = add ? random_tensor(device, {C}, 2) : nan_tensor(device, {C});
        Matrix should = add ? matrix(sums) : Matrix(1, C);
        Matrix bounds = magnitudes(should);
        for (index_t n = 0; n < N; ++n) {
          for (index_t c = 0; c < C; ++c) {
            should(0, c) += terms(n, c);
            bounds(0, c) += std::abs(terms(n, c));
          }
        }
        for (double& bound : bounds.elements) bound *= static_cast<double>(N + 1) * unit_roundoff;
        ops::column_sums(device, x, sums, write);
        CHECK(difference(sums, should, bounds) == "");
      }
    }
  }
}

TEST_CASE("sums over rows have the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto sums = nan_tensor(device, {200});
          ops::column_sums(device, random_tensor(device, {500, 200}, 1), sums);
          return std::vector{sums};
        }) == "");
}

TEST_CASE("sums of another width are refused") {
  Cpu device;
  const auto x = nan_tensor(device, {2, 3}), sums = nan_tensor(device, {2});
  CHECK(message_of<ShapeError>([&] { ops::column_sums(device, x, sums); }) ==
        "column_sums: sums is (2), should be (3)");
}

}  // namespace column_sums_tests
