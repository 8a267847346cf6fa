// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/nn/linear.hpp>

#include <weft/testing/difference.hpp>

#include "../placed.hpp"

#include <catch2/catch.hpp>

namespace linear_tests {

using namespace weft;
using namespace weft::nn;
using namespace weft::testing;

static_assert(parameter_count(Linear<5, 3>()) == 18);
static_assert(parameter_count(Linear<5, 3, false>()) == 15);

TEST_CASE("a linear layer multiplies each row with its weights and adds its bias") {
  Cpu device;
  Placed placed(device, Linear<5, 3>());
  placed.values = random_values(18, 1);
  const auto x = random_rows<5>(device, {2, 0, 4}, 2);
  const auto in = matrix(x.values);
  const auto expected = matrix(6, 3, [&](index_t n, index_t o) {
    double sum = static_cast<double>(placed.values[static_cast<std::size_t>(15 + o)]);
    for (index_t i = 0; i < 5; ++i) {
      sum += in(n, i) * static_cast<double>(placed.values[static_cast<std::size_t>(o * 5 + i)]);
    }
    return sum;
  });
  auto ctx = placed.evaluation(device);
  const auto y = placed.module.forward(ctx, x).output;
  CHECK(difference(y.values, expected, 6 * 6 * unit_roundoff) == "");
  CHECK(y.layout == x.layout);
}

TEST_CASE("a linear layer's gradients are those of central differences") {
  Cpu device;
  const auto x = random_rows<5>(device, {2, 0, 4}, 3);
  CHECK(gradient_fault(device, Linear<5, 3>(), x) == "");
  CHECK(gradient_fault(device, Linear<5, 3, false>(), x) == "");
}

TEST_CASE("a linear layer of no rows has gradients of zero") {
  Cpu device;
  const auto x = random_rows<5>(device, {0}, 3);
  CHECK(gradient_fault(device, Linear<5, 3>(), x) == "");
}

}  // namespace linear_tests
