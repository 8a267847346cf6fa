// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/softmax.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <weft/testing/difference.hpp>
#include <weft/testing/gradient_check.hpp>
#include <weft/testing/random.hpp>
#include <weft/testing/reference.hpp>
#include <weft/testing/teams.hpp>

#include "../message_of.hpp"

namespace softmax_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr index_t row_counts[] = {0, 1, 5};
constexpr index_t widths[] = {0, 1, 15, 16, 17, 512};

//! The relative error of a probability from logits in [-4, 4]: x - max <= 8 is rounded, exp is off
//! by 5 roundings, and both count twice, in the element and in the sum; the sum of C / 16 + 4
//! additions, its inverse and the last product come on top.
double relative_error(index_t C) {
  return (2.0 * (8 + 5) + static_cast<double>(C) / 16 + 4 + 2) * unit_roundoff;
}

Tensor<float> logits(Cpu& device, index_t N, index_t C) {
  return random_tensor(device, {N, C}, 1, -4.0f, 4.0f);
}

}  // namespace

TEST_CASE("softmax agrees with its formula in double") {
  Cpu device;
  for (const index_t N : row_counts) {
    for (const index_t C : widths) {
      CAPTURE(N, C);
      const auto x = logits(device, N, C), y = nan_tensor(device, {N, C});
      ops::softmax(device, x, y);
      const Matrix should = softmax(matrix(x));
      Matrix bounds = should;
      for (double& bound : bounds.elements) bound *= relative_error(C);
      CHECK(difference(y, should, bounds) == "");
      ops::softmax(device, x, x);
      CHECK(bit_difference(x, y) == "");
    }
  }
}

TEST_CASE("log softmax agrees with its formula in double") {
  // The logarithm of the sum is off by the relative error of the sum and its own roundings, of a
  // number below log(512) + 4; so are the last two subtractions, of numbers below 15.
  Cpu device;
  for (const index_t N : row_counts) {
    for (const index_t C : widths) {
      CAPTURE(N, C);
      const auto x = logits(device, N, C), y = nan_tensor(device, {N, C});
      ops::log_softmax(device, x, y);
      Matrix should = softmax(matrix(x));
      for (double& element : should.elements) element = std::log(element);
      CHECK(difference(y, should, relative_error(C) + 3 * 15 * unit_roundoff) == "");
    }
  }
}

TEST_CASE("the gradient of softmax agrees with central differences") {
  // dx = y (dy - sum of y dy): off by the relative errors of both y and of a sum of C terms.
  Cpu device;
  for (const index_t N : {1, 3}) {
    for (const index_t C : {1, 15, 16, 17, 100}) {
      CAPTURE(N, C);
      const auto x = logits(device, N, C), y = nan_tensor(device, {N, C}),
                 dy = random_tensor(device, {N, C}, 2), dx = nan_tensor(device, {N, C});
      ops::softmax(device, x, y);
      ops::softmax_backward(device, y, dy, dx);
      const Matrix weights = matrix(dy), p = softmax(matrix(x));
      const Matrix should = central_differences(
          [&](const Matrix& at) { return inner(softmax(at), weights); }, matrix(x));
      const double error =
          2 * relative_error(C) + (static_cast<double>(C) / 16 + 8) * unit_roundoff;
      const Matrix bounds = matrix(N, C, [&](index_t n, index_t c) {
        return 1e-9 + error * p(n, c) * 2;  // |dy| <= 1, and so is a mean of it
      });
      CHECK(difference(dx, should, bounds) == "");
      ops::softmax_backward(device, y, dy, dy);
      CHECK(bit_difference(dx, dy) == "");
    }
  }
}

TEST_CASE("large logits neither overflow nor vanish") {
  Cpu device;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{3e38f, -3e38f, 1000.0f, 999.0f, -infinity, -1000.0f};
  const auto in = to_device<float>(device, x, {3, 2}), y = nan_tensor(device, {3, 2});
  ops::softmax(device, in, y);
  const double e = std::exp(-1.0);
  Matrix should(3, 2);
  should.elements = {1.0, 0.0, 1.0 / (1.0 + e), e / (1.0 + e), 0.0, 1.0};
  CHECK(difference(y, should, relative_error(2)) == "");
}

TEST_CASE("a log probability is not rounded to the size of the logits") {
  Cpu device;
  const Matrix small = [] {
    Matrix m(1, 3);
    m.elements = {0.0, 8.0, 0.0};
    return m;
  }();
  Matrix should = softmax(small);
  for (double& element : should.elements) element = std::log(element);
  for (const float base : {0.0f, 1e5f, 1e8f}) {
    CAPTURE(base);
    const std::vector<float> x{base, base + 8.0f, base};
    const auto y = nan_tensor(device, {1, 3});
    ops::log_softmax(device, to_device<float>(device, x, {1, 3}), y);
    CHECK(difference(y, should, relative_error(3) + 3 * 15 * unit_roundoff) == "");
  }
}

TEST_CASE("a NaN makes its row NaN and no other") {
  Cpu device;
  auto values = random_values(3 * 20, 1);
  values[20 + 17] = std::numeric_limits<float>::quiet_NaN();
  const auto x = to_device<float>(device, values, {3, 20}), y = nan_tensor(device, {3, 20});
  ops::softmax(device, x, y);
  const auto out = to_host(y);
  const auto nan_in_row = [&](std::ptrdiff_t n) {
    return std::count_if(out.begin() + n * 20, out.begin() + (n + 1) * 20,
                         [](float value) { return std::isnan(value); });
  };
  CHECK((nan_in_row(0) == 0 && nan_in_row(1) == 20 && nan_in_row(2) == 0));
}

TEST_CASE("softmax has the same bits on any team") {
  CHECK(team_difference([](Cpu& device) {
          const auto x = logits(device, 300, 70), y = nan_tensor(device, {300, 70}),
                     z = nan_tensor(device, {300, 70}), dx = nan_tensor(device, {300, 70});
          ops::softmax(device, x, y);
          ops::log_softmax(device, x, z);
          ops::softmax_backward(device, y, x, dx);
          return std::vector{y, z, dx};
        }) == "");
}

TEST_CASE("softmax into another shape is refused") {
  Cpu device;
  const auto x = nan_tensor(device, {2, 3}), y = nan_tensor(device, {3, 2});
  CHECK(message_of<ShapeError>([&] { ops::softmax(device, x, y); }) ==
        "softmax: y is (3, 2), should be (2, 3)");
  CHECK(message_of<ShapeError>([&] { ops::log_softmax(device, x, y); }) ==
        "log_softmax: y is (3, 2), should be (2, 3)");
  CHECK(message_of<ShapeError>([&] { ops::softmax_backward(device, x, x, y); }) ==
        "softmax_backward: dx is (3, 2), should be (2, 3)");
  CHECK(message_of<ShapeError>([&] { ops::softmax_backward(device, x, y, x); }) ==
        "softmax_backward: dy is (3, 2), should be (2, 3)");
}

}  // namespace softmax_tests
