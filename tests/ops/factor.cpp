// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/factor.hpp>

#include <string>
#include <vector>

#include <weft/ops/activation.hpp>
#include <weft/ops/column_sums.hpp>
#include <weft/ops/cross_entropy.hpp>
#include <weft/ops/dropout.hpp>
#include <weft/ops/layer_norm.hpp>
#include <weft/ops/linear.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/testing/difference.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/widened.hpp>

#include "../message_of.hpp"

#include <catch2/catch.hpp>

namespace factor_tests {

using namespace weft;
using namespace weft::testing;
using ops::Factor;
using ops::FactorTarget;
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
  CHECK(FactorView(Factor<Cpu>(x)).numbers == AnyFloats<const void>(x.data()));
  device.set_product_precision(ProductPrecision::bfloat16);
  const Factor<Cpu> factor(x);
  x = {};
  CHECK(device.memory().statistics().live == (M * K * 2 + 63) / 64 * 64);
  const FactorView view = factor;
  CHECK(view.numbers.type == FloatType::bfloat16);
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

namespace {

//! "" if what `operation(target)` writes, an array (M, K), as rounded numbers is what it writes as
//! floats, rounded then.
template <class Operation>
std::string rounding_difference(Cpu& device, Operation operation) {
  const Tensor<float> floats(device, {M, K});
  operation(FactorTarget(floats));
  const Factor<Cpu> rounded(device, {M, K}), expected(floats);
  operation(rounded.target());
  return bit_difference(widened(rounded), widened(expected));
}

}  // namespace

TEST_CASE("operations round as they write what products read") {
  Cpu device;
  const auto type = GENERATE(ProductPrecision::bfloat16, ProductPrecision::float16);
  CAPTURE(to_text(type));
  const auto layout = make_layout(device, std::vector<index_t>{20, 13});
  const View<const RowKey> keys = layout->keys;
  const auto x = random_tensor(device, {M, K}, 1), dy = random_tensor(device, {M, K}, 2);
  const auto gain = random_tensor(device, {K}, 3), bias = random_tensor(device, {K}, 4);
  const ops::DropoutMask mask(0.3f, RandomKey(1, 2), 3);
  const Tensor<ops::RowMoments> moments(device, {M});
  const auto a = random_tensor(device, {M, N}, 5), b = random_tensor(device, {K, N}, 6);
  const auto index = to_device<index_t>(device, std::vector<index_t>(M, 7), {M});
  device.set_product_precision(type);
  const Factor<Cpu> y(x);
  const auto difference = [&](auto operation) { return rounding_difference(device, operation); };
  CHECK(difference([&](auto to) { ops::dropout(device, mask, keys, x, to); }) == "");
  CHECK(difference([&](auto to) { ops::layer_norm(device, x, gain, bias, to, moments); }) == "");
  CHECK(difference([&](auto to) {
          ops::bias_activation_dropout<ops::Activation::gelu>(device, mask, keys, x, bias, to);
        }) == "");
  CHECK(difference([&](auto to) {
          ops::activation_dropout_backward<ops::Activation::gelu>(device, mask, keys, y, bias, dy,
                                                                  to);
        }) == "");
  CHECK(difference([&](auto to) { ops::relu_dropout_backward(device, mask, y, dy, to); }) == "");
  CHECK(difference([&](auto to) { ops::gather_rows(device, x, index, to); }) == "");
  CHECK(difference([&](auto to) { ops::linear(device, a, b, bias, to); }) == "");
  CHECK(difference([&](auto to) {
          const Tensor<float> losses(device, {M});
          const auto labels = to_device<token_t>(device, std::vector<token_t>(M, 9), {M});
          ops::cross_entropy(device, x, bias, labels, ops::ignore_nothing, 0.1f, to, losses);
        }) == "");
}

TEST_CASE("sums over rows are those of rounded numbers, and sums of products are floats") {
  Cpu device;
  const auto x = random_tensor(device, {M, K}, 1), w = random_tensor(device, {N, K}, 2);
  const Tensor<float> sums(device, {K}), expected(device, {K});
  device.set_product_precision(ProductPrecision::bfloat16);
  const Factor<Cpu> rounded(x), y(device, {M, N});
  ops::column_sums(device, rounded, sums);
  ops::column_sums(device, widened(rounded), expected);
  CHECK(bit_difference(sums, expected) == "");
  CHECK(message_of<Error>([&] {
          ops::matmul_nt(device, x, w, y.target(), ops::Write::accumulate);
        }) == "matmul_nt: c is bfloat16: sums are added as floats");
}

}  // namespace factor_tests
