// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/gradient_check.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "../message_of.hpp"

namespace gradient_check_tests {

using namespace weft;
using namespace weft::testing;

namespace {

//! exp(x) sin(y) + x y in float, and its gradient.
float loss(const std::vector<float>& x) { return std::exp(x[0]) * std::sin(x[1]) + x[0] * x[1]; }

std::vector<float> gradient(const std::vector<float>& x) {
  return {std::exp(x[0]) * std::sin(x[1]) + x[1], std::exp(x[0]) * std::cos(x[1]) + x[0]};
}

}  // namespace

TEST_CASE("central differences find a gradient to ten digits") {
  Matrix x(1, 3);
  x.elements = {0.3, -1.2, 2.0};
  const Matrix found = central_differences(
      [](const Matrix& at) { return std::sin(at(0, 0)) * at(0, 1) + std::exp(at(0, 2)); }, x);
  CHECK(found(0, 0) == Approx(std::cos(0.3) * -1.2).epsilon(1e-9));
  CHECK(found(0, 1) == Approx(std::sin(0.3)).epsilon(1e-9));
  CHECK(found(0, 2) == Approx(std::exp(2.0)).epsilon(1e-9));
}

TEST_CASE("a right gradient of a loss in float passes, and the values are restored") {
  for (const float first : {-1.0f, 0.0f, 0.7f, 2.0f}) {
    std::vector<float> x{first, 1.1f};
    const auto before = x;
    CHECK(gradient_difference(x, gradient(x), [&] { return loss(x); }, 4 * 0x1p-24 * 10) == "");
    CHECK(x == before);
  }
}

TEST_CASE("a gradient that is off by a thousandth does not pass") {
  std::vector<float> x{0.7f, 1.1f};
  for (const std::size_t wrong : {0u, 1u}) {
    auto off = gradient(x);
    off[wrong] *= 1.001f;
    const auto message =
        gradient_difference(x, off, [&] { return loss(x); }, 4 * 0x1p-24 * 3);
    CHECK(message.starts_with(text("the gradient's element ", wrong, " is ")));
  }
  auto missing = gradient(x);
  missing[1] = std::nanf("");
  CHECK(gradient_difference(x, missing, [&] { return loss(x); }, 1.0) != "");
}

TEST_CASE("where a loss bends within a step a right gradient needs a smaller one to pass") {
  const auto fault = [](const auto& f, float at, float slope, float h) {
    std::vector<float> x{at};
    return gradient_difference(x, std::vector<float>{slope}, [&] { return f(x[0]); },
                               /*noise=*/0x1p-22, h);
  };
  const auto relu = [](float x) { return x > 0.0f ? x : 0.0f; };
  const auto normalised = [](float x) { return x / std::sqrt(x * x + 1e-4f); };
  constexpr float h = 0x1p-5f, smaller = 0x1p-9f;
  CHECK(fault(relu, 0.005f, 1.0f, h) != "");
  CHECK(fault(relu, 0.005f, 1.0f, smaller) == "");
  CHECK(fault(relu, 0.005f, 0.99f, smaller) != "");
  CHECK(fault(normalised, 0.0f, 100.0f, h) != "");
  CHECK(fault(normalised, 0.0f, 100.0f, smaller) == "");
  CHECK(fault(normalised, 0.0f, 98.0f, smaller) != "");
}

TEST_CASE("a gradient of another size is refused") {
  std::vector<float> x(3);
  const std::vector<float> g(2);
  CHECK(message_of<ShapeError>([&] {
          return gradient_difference(x, g, [] { return 0.0f; }, 0.0);
        }) == "gradient_difference: 3 values and 2 elements of the gradient");
}

}  // namespace gradient_check_tests
