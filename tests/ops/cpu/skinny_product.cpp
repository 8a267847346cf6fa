// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/cpu/skinny_product.hpp>

#include <catch2/catch.hpp>

#include "product_of_rows.hpp"

namespace cpu_skinny_product_tests {

using namespace weft;
using namespace weft::testing;
using ops::detail::most_skinny_rows;
using ops::detail::multiply_skinny;

namespace {

const auto multiply = [](auto... arguments) {
  Cpu device;
  multiply_skinny(device, arguments...);
};

}  // namespace

TEST_CASE("some rows times a transposed matrix are the product, whatever lies between rows") {
  for (const index_t M : {1, 6, 16, 33, 64, 110}) {
    for (const index_t N : {0, 1, 23, 24, 50}) {
      for (const index_t K : {1, 37, 64, 385, 800}) {
        for (const bool accumulate : {false, true}) {
          CAPTURE(M, N, K, accumulate);
          CHECK(product_of_rows_difference(M, N, K, accumulate, multiply) == "");
        }
      }
    }
  }
}

TEST_CASE("a row of some is the same beside others, and so is a part of its columns") {
  for (const index_t K : {77, 500, 800}) check_rows_alone(most_skinny_rows, K, multiply);
}

}  // namespace cpu_skinny_product_tests
