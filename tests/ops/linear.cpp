// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/linear.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include <weft/ops/rows.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/widened.hpp>

#include "../message_of.hpp"

namespace linear_tests {

using namespace weft;
using namespace weft::testing;
using ops::Activation;
using ops::DropoutMask;
using ops::Factor;
using ops::Write;

namespace {

constexpr index_t M = 33, N = 20, K = 40;

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

}  // namespace

TEST_CASE("a linear layer is a product and a bias, to the bit") {
  const auto threads = GENERATE(1, 3);
  Cpu device(threads);
  for (const index_t inner : {0, 3, 100}) {
    CAPTURE(inner);
    const auto x = random_tensor(device, {70, inner}, 1), w = random_tensor(device, {65, inner}, 2);
    const auto bias = random_tensor(device, {65}, 3);
    const auto y = random_tensor(device, {70, 65}, 4),
               expected = random_tensor(device, {70, 65}, 5);
    ops::linear(device, x, w, bias, y);
    ops::matmul_nt(device, x, w, expected);
    ops::add_bias(device, bias, expected);
    CHECK(to_host(y) == to_host(expected));
  }
}

TEST_CASE("an activation follows its product, whatever is dropped and what the result is") {
  Cpu device;
  const auto keys = make_layout(device, std::vector<index_t>{M})->keys;
  const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2);
  const auto bias = random_tensor(device, {N}, 3);
  for (const auto precision : {ProductPrecision::float32, ProductPrecision::bfloat16}) {
    device.set_product_precision(precision);
    for (const DropoutMask& mask : {DropoutMask(), some_dropped}) {
      CAPTURE(to_text(precision), mask.active());
      const Factor<Cpu> y(device, {M, N}), product(device, {M, N}, FloatType::float32);
      const auto expected = nan_tensor(device, {M, N});
      ops::matmul_nt(device, x, w, expected);
      ops::bias_activation_dropout<Activation::relu>(device, mask, keys, expected, bias, expected);
      const auto as_products_read = widened(Factor<Cpu>(expected));
      ops::linear_activation_dropout<Activation::relu>(device, mask, keys, x, w, bias,
                                                       product.target(), y.target());
      CHECK(bit_difference(widened(y), as_products_read) == "");
    }
  }
}

TEST_CASE("the gradients of a weight and a bias are a product and the sums of its rows") {
  Cpu device;
  const auto x = random_tensor(device, {M, K}, 1), dy = random_tensor(device, {M, N}, 2);
  for (const Write write_w : {Write::replace, Write::accumulate}) {
    for (const Write write_b : {Write::replace, Write::accumulate}) {
      const auto dw = random_tensor(device, {N, K}, 3), db = random_tensor(device, {N}, 4);
      const auto expected_dw = random_tensor(device, {N, K}, 3),
                 expected_db = random_tensor(device, {N}, 4);
      ops::matmul_tn(device, dy, x, expected_dw, write_w);
      ops::column_sums(device, dy, expected_db, write_b);
      ops::linear_gradients(device, dy, x, dw, write_w, db, write_b);
      CHECK(bit_difference(dw, expected_dw) == "");
      CHECK(bit_difference(db, expected_db) == "");
    }
  }
}

TEST_CASE("what does not fit a linear layer is refused") {
  Cpu device;
  const auto x = nan_tensor(device, {M, K}), dy = nan_tensor(device, {M, N}),
             dw = nan_tensor(device, {N, K}), b = nan_tensor(device, {N}),
             wide = nan_tensor(device, {N + 1});
  CHECK(message_of<ShapeError>([&] { ops::linear(device, x, dw, wide, dy); }) ==
        "linear: bias is (21), should be (20)");
  const auto refusal = [&](const auto& product, const auto& sums) {
    return message_of<ShapeError>([&] {
      ops::linear_gradients(device, dy, x, product, Write::replace, sums, Write::replace);
    });
  };
  CHECK(refusal(dw, wide) == "linear_gradients: db is (21), should be (20)");
  CHECK(refusal(dy, b) == "linear_gradients: (33, 20) and (33, 40) do not give (33, 20)");
}

}  // namespace linear_tests
