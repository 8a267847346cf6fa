// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/gated_activation.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace gated_activation_tests {

using namespace weft;
using namespace weft::testing;
using ops::Activation;
using ops::DropoutMask;

namespace {

using Lengths = std::vector<index_t>;

const DropoutMask some_dropped(0.25f, RandomKey(7, 8), 9);

//! What an activation of |x| < 4 may be off by relatively to 4, and its slope absolutely: GELU's by
//! 7e-7 and 12e-7 (see activation.cpp, where they are derived), and roundings of products with
//! them.
constexpr double error = 1.4e-6;
//! The other factors: a value below 4, and what dropout multiplies by.
constexpr double factors = 4.0 * 4.0 / 3.0;

template <Activation A>
void check(index_t N, index_t C, const DropoutMask& mask) {
  CAPTURE(N, C, mask.active());
  Cpu device;
  const auto layout = make_layout(device, Lengths{N});
  const auto keys = to_host(layout->keys);
  const auto x = random_tensor(device, {N, 2 * C}, 1, -4.0f, 4.0f);
  const Matrix in = matrix(x);
  const auto factor = [&](index_t n, index_t c) {
    return dropout_factor(mask, keys[static_cast<std::size_t>(n)], c);
  };
  const auto formula = [&](const Matrix& at) {
    return matrix(N, C, [&](index_t n, index_t c) {
      return factor(n, c) * activated(A, at(n, c)) * at(n, C + c);
    });
  };

  const auto y = nan_tensor(device, {N, C});
  ops::gated_activation_dropout<A>(device, mask, layout->keys, x, y);
  CHECK(difference(y, formula(in), 4 * factors * error) == "");

  const auto dy = random_tensor(device, {N, C}, 3), dx = nan_tensor(device, {N, 2 * C});
  ops::gated_activation_dropout_backward<A>(device, mask, layout->keys, x, dy, dx);
  const Matrix weights = matrix(dy);
  const Matrix slopes =
      central_differences([&](const Matrix& at) { return inner(formula(at), weights); }, in);
  CHECK(difference(dx, slopes, 1e-7 + factors * error) == "");

  ops::gated_activation_dropout_backward<A>(device, mask, layout->keys, x, dy, x);
  CHECK(bit_difference(x, dx) == "");
}

}  // namespace

TEMPLATE_TEST_CASE_SIG(
    "gated activations agree with their formulas, and their gradients with central differences", "",
    ((Activation A), A), Activation::identity, Activation::relu, Activation::gelu,
    Activation::silu) {
  for (const index_t N : {0, 1, 4}) {
    for (const index_t C : {0, 1, 15, 16, 17, 40}) check<A>(N, C, some_dropped);
  }
  check<A>(3, 130, {});
  check<A>(3, 130, some_dropped);
}

TEST_CASE("a gated activation has the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          constexpr index_t N = 300, C = 70;
          const auto layout = make_layout(device, Lengths{N});
          const auto x = random_tensor(device, {N, 2 * C}, 1), y = nan_tensor(device, {N, C}),
                     dx = nan_tensor(device, {N, 2 * C});
          ops::gated_activation_dropout<Activation::silu>(device, some_dropped, layout->keys, x, y);
          ops::gated_activation_dropout_backward<Activation::silu>(device, some_dropped,
                                                                   layout->keys, x, y, dx);
          return std::vector{y, dx};
        }) == "");
}

TEST_CASE("what does not fit a gated activation is refused") {
  Cpu device;
  const auto x = nan_tensor(device, {3, 4}), y = nan_tensor(device, {3, 2});
  const auto keys = make_layout(device, Lengths{3})->keys,
             fewer = make_layout(device, Lengths{2})->keys;
  constexpr auto silu = Activation::silu;
  CHECK(message_of<ShapeError>([&] {
          ops::gated_activation_dropout<silu>(device, {}, keys, y, y);
        }) == "gated_activation_dropout: x is (3, 2), should be (3, 4)");
  CHECK(message_of<ShapeError>([&] {
          ops::gated_activation_dropout<silu>(device, {}, fewer, x, y);
        }) == "gated_activation_dropout: keys is (2), should be (3)");
  CHECK(message_of<ShapeError>([&] {
          ops::gated_activation_dropout_backward<silu>(device, {}, keys, x, x, x);
        }) == "gated_activation_dropout_backward: x is (3, 4), should be (3, 8)");
  CHECK(message_of<ShapeError>([&] {
          ops::gated_activation_dropout_backward<silu>(device, {}, keys, x, y, y);
        }) == "gated_activation_dropout_backward: dx is (3, 2), should be (3, 4)");
}

}  // namespace gated_activation_tests
