// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/residual.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <weft/tensor/tensor.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>

#include "../message_of.hpp"

namespace residual_tests {

using namespace weft;
using namespace weft::testing;
using ops::DropoutMask;

TEST_CASE("a residual connection adds what dropout leaves of a branch and its bias") {
  Cpu device;
  for (const index_t N : {0, 1, 4}) {
    for (const index_t C : {1, 2, 15, 16, 17, 512}) {
      for (const DropoutMask& mask : {DropoutMask(), DropoutMask(0.25f, RandomKey(7, 8), 9)}) {
        for (const bool with_bias : {false, true}) {
          CAPTURE(N, C, mask.active(), with_bias);
          const auto layout = make_layout(device, std::vector<index_t>{N});
          const auto keys = to_host(layout->keys);
          const auto x = random_tensor(device, {N, C}, 1),
                     branch = random_tensor(device, {N, C}, 2), b = random_tensor(device, {C}, 3),
                     sum = nan_tensor(device, {N, C});
          const auto bias = with_bias ? View<const float>(b) : View<const float>();
          ops::residual(device, mask, layout->keys, x, branch, bias, sum);
          const Matrix left = matrix(x), right = matrix(branch), shift = matrix(b);
          const auto value = [&](index_t n, index_t c) {
            return dropout_factor(mask, keys[static_cast<std::size_t>(n)], c) *
                   (right(n, c) + (with_bias ? shift(0, c) : 0.0));
          };
          // Three roundings of the branch (bias, factor, sum) and one of x.
          CHECK(difference(
                    sum,
                    matrix(N, C, [&](index_t n, index_t c) { return left(n, c) + value(n, c); }),
                    matrix(N, C, [&](index_t n, index_t c) {
                      return unit_roundoff *
                             (std::abs(left(n, c)) + 3 * std::abs(value(n, c)) + 1e-3);
                    })) == "");
          ops::residual(device, mask, layout->keys, x, branch, bias, branch);
          CHECK(bit_difference(branch, sum) == "");
        }
      }
    }
  }
}

TEST_CASE("what does not fit a residual connection is refused") {
  Cpu device;
  const auto x = nan_tensor(device, {3, 2}), wide = nan_tensor(device, {3, 4}),
             c3 = nan_tensor(device, {3});
  const auto keys = make_layout(device, std::vector<index_t>{3})->keys;
  const auto add = [&](const auto& branch, View<const float> bias, const auto& sum) {
    return message_of<ShapeError>([&] { ops::residual(device, {}, keys, x, branch, bias, sum); });
  };
  CHECK(add(wide, {}, x) == "residual: branch is (3, 4), should be (3, 2)");
  CHECK(add(x, {}, wide) == "residual: sum is (3, 4), should be (3, 2)");
  CHECK(add(x, c3, x) == "residual: branch_bias is (3), should be (2)");
  const auto tall = nan_tensor(device, {4, 2});
  CHECK(message_of<ShapeError>([&] { ops::residual(device, {}, keys, tall, tall, {}, tall); }) ==
        "residual: keys is (3), should be (4)");
}

}  // namespace residual_tests
