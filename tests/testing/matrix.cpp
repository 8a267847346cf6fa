// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/matrix.hpp>

#include <catch2/catch.hpp>
#include <vector>

namespace matrix_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! 11, 12, 13 / 21, 22, 23
const Matrix a = matrix(2, 3, [](index_t r, index_t c) {
  return static_cast<double>(10 * (r + 1) + c + 1);
});

}  // namespace

TEST_CASE("a matrix is made from its formula, or from a tensor's rows") {
  CHECK(a.elements == std::vector<double>{11, 12, 13, 21, 22, 23});
  Cpu device;
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  const Matrix rows = matrix(to_device<float>(device, values, {2, 2, 2}));
  CHECK((rows.rows == 4 && rows.columns == 2 && rows(2, 1) == 6.0));
}

TEST_CASE("blocks, transposes and magnitudes") {
  CHECK(block(a, 1, 1, 1, 2).elements == std::vector<double>{22, 23});
  CHECK(transposed(a).elements == std::vector<double>{11, 21, 12, 22, 13, 23});
  CHECK(magnitudes(matrix(1, 2, [](index_t, index_t c) { return c == 0 ? -3.0 : 2.0; })).elements ==
        std::vector<double>{3, 2});
}

TEST_CASE("products and inner products") {
  CHECK(product(a, transposed(a)).elements == std::vector<double>{434, 794, 794, 1454});
  CHECK(inner(a, a) == 434 + 1454);
  CHECK(product(Matrix(2, 0), Matrix(0, 3)).elements == std::vector<double>(6, 0.0));
}

}  // namespace matrix_tests
