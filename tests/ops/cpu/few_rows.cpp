// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/few_rows.hpp>

#include <catch2/catch.hpp>

#include "../../message_of.hpp"
#include "product_of_rows.hpp"

namespace cpu_few_rows_tests {

using namespace weft;
using namespace weft::testing;
using ops::detail::most_few_rows;
using ops::detail::multiply_few_rows;

TEST_CASE("few rows times a transposed matrix are the product, whatever lies between rows") {
  for (index_t M = 1; M <= most_few_rows; ++M) {
    for (const index_t N : {0, 1, 7, 8, 21}) {
      for (const index_t K : {0, 1, 16, 37, 64}) {
        for (const bool accumulate : {false, true}) {
          CAPTURE(M, N, K, accumulate);
          CHECK(product_of_rows_difference(M, N, K, accumulate, multiply_few_rows<float, float>) ==
                "");
        }
      }
    }
  }
}

TEST_CASE("a row of few is the same beside others, and so is a part of its columns") {
  check_rows_alone(most_few_rows, 77, multiply_few_rows<float, float>);
}

TEST_CASE("too many rows are refused") {
  CHECK(message_of<ArgumentError>([] {
          multiply_few_rows<float, float>(6, 0, 0, nullptr, 0, nullptr, 0, nullptr, 0, false);
        }) == "multiply_few_rows: 6 rows");
}

}  // namespace cpu_few_rows_tests
