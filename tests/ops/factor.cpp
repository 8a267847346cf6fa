// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/factor.hpp>

#include <weft/ops/activation.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::testing;
using ops::Factor;
using ops::FactorView;

namespace {

constexpr index_t M = 33, N = 40, K = 70;

//! The three products of factors of a linear layer.
struct Products {
  Tensor<float> y, dx, dw;

  Products(Cpu& device, const FactorView& x, const FactorView& w, const FactorView& dy)
      : y(device, {M, N}), dx(device, {M, K}), dw(device, {N, K}) {
    ops::matmul_nt(device, x, w, y);
    ops::matmul_nn(device, dy, w, dx);
    ops::matmul_tn(device, dy, x, dw);
  }

  //! "" if all bits are equal.
  [[nodiscard]] std::string difference(const Products& other) const {
    return bit_difference(y, other.y) + bit_difference(dx, other.dx) + bit_difference(dw, other.dw);
  }
};

}  // namespace

TEST_CASE("products have the bits of their floats, whichever factors were rounded before") {
  Cpu device;
  const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2),
             dy = random_tensor(device, {M, N}, 3);
  const Products precise(device, x, w, dy);
  for (const auto precision : {ProductPrecision::float32, ProductPrecision::tf32,
                               ProductPrecision::bfloat16, ProductPrecision::float16}) {
    CAPTURE(to_text(precision));
    device.set_product_precision(precision);
    const Products of_floats(device, x, w, dy);
    const Factor<Cpu> rounded_x(x), rounded_w(w), rounded_dy(dy);
    CHECK(Products(device, rounded_x, rounded_w, rounded_dy).difference(of_floats) == "");
    CHECK(Products(device, rounded_x, w, dy).difference(of_floats) == "");
    CHECK(Products(device, x, w, rounded_dy).difference(of_floats) == "");
    const bool rounds =
        precision == ProductPrecision::bfloat16 || precision == ProductPrecision::float16;
    CHECK((of_floats.difference(precise) == "") == !rounds);

    // What was rounded decides.
    device.set_product_precision(ProductPrecision::float32);
    CHECK(Products(device, rounded_x, w, rounded_dy).difference(of_floats) == "");
  }
}

TEST_CASE("a factor shares floats, and holds rounded numbers in half the memory") {
  Cpu device;
  auto x = random_tensor(device, {M, K}, 1);
  CHECK(FactorView(Factor<Cpu>(x)).floats == x.data());
  device.set_product_precision(ProductPrecision::bfloat16);
  const Factor<Cpu> factor(x);
  x = {};
  CHECK(device.memory().statistics().live == (M * K * 2 + 63) / 64 * 64);
  const FactorView view = factor;
  CHECK(view.floats == nullptr);
  CHECK(view.precision == ProductPrecision::bfloat16);
  CHECK(view.shape == Shape{M, K});
  CHECK(FactorView(Factor<Cpu>(Tensor<float>(device, {0, K}))).rows() == 0);
}

TEST_CASE("factors that were rounded to different precisions have no product") {
  Cpu device;
  const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2);
  device.set_product_precision(ProductPrecision::bfloat16);
  const Factor<Cpu> left(x);
  device.set_product_precision(ProductPrecision::float16);
  const Factor<Cpu> right(w);
  const Tensor<float> y(device, {M, N});
  CHECK(message_of<Error>([&] { ops::matmul_nt(device, left, right, y); }) ==
        "matmul_nt: the factors were rounded to bfloat16 and float16: a device's product precision "
        "may change between steps only");
}

TEST_CASE("the gradient of ReLU is that from its output, rounded or not") {
  Cpu device;
  const auto y = random_tensor(device, {M, K}, 1), dy = random_tensor(device, {M, K}, 2);
  const Tensor<float> expected(device, {M, K}), dx(device, {M, K});
  ops::relu_dropout_backward(device, {}, y, dy, expected);
  for (const auto precision : {ProductPrecision::bfloat16, ProductPrecision::float16}) {
    device.set_product_precision(precision);
    ops::relu_dropout_backward(device, {}, Factor<Cpu>(y), dy, dx);
    CHECK(bit_difference(dx, expected) == "");
  }
}
