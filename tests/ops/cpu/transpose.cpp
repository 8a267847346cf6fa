// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/transpose.hpp>

#include <catch2/catch.hpp>

#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>

namespace cpu_transpose_tests {

using namespace weft;
using namespace weft::testing;
using ops::detail::transpose_and_pad;

TEST_CASE("rows become columns, and zeros follow them") {
  Cpu device;
  constexpr index_t gap = 2;
  for (const index_t rows : {0, 1, 3, 4, 7, 16}) {
    for (const index_t columns : {0, 1, 4, 6, 19}) {
      for (const index_t padding : {0, 1, 9}) {
        CAPTURE(rows, columns, padding);
        const auto in = random_tensor(device, {rows, columns + gap}, 1);
        const auto out = nan_tensor(device, {columns, rows + padding});
        transpose_and_pad(rows, columns, in.data(), columns + gap, out.data(), rows + padding);
        const Matrix from = matrix(in);
        CHECK(difference(out,
                         matrix(columns, rows + padding,
                                [&](index_t c, index_t r) { return r < rows ? from(r, c) : 0.0; }),
                         0.0) == "");
      }
    }
  }
}

TEST_CASE("what lies between the rows of the transposed matrix is left alone") {
  Cpu device;
  const auto in = random_tensor(device, {6, 5}, 1);
  const auto out = random_tensor(device, {5, 9}, 2);
  Matrix should = matrix(out);
  const Matrix from = matrix(in);
  for (index_t r = 0; r < 6; ++r) {
    for (index_t c = 0; c < 5; ++c) should(c, r) = from(r, c);
  }
  ops::detail::transpose(6, 5, in.data(), 5, out.data(), 9);
  CHECK(difference(out, should, 0.0) == "");
}

}  // namespace cpu_transpose_tests
