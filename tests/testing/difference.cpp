// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/difference.hpp>

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace difference_tests {

using namespace weft;
using namespace weft::testing;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

Tensor<float> tensor(Cpu& device, const std::vector<float>& values) {
  return to_device<float>(device, values, {2, 2});
}

Matrix numbers(double a, double b, double c, double d) {
  Matrix result(2, 2);
  result.elements = {a, b, c, d};
  return result;
}

}  // namespace

TEST_CASE("what lies within its bound is no difference") {
  Cpu device;
  const auto x = tensor(device, {1, 2, 3, 4});
  CHECK(difference(x, numbers(1, 2, 3, 4), 0.0) == "");
  CHECK(difference(x, numbers(1.5, 2, 3, 4), 0.5) == "");
  CHECK(difference(x, numbers(1.5, 2, 3, 5), numbers(0.5, 0, 0, 1)) == "");
}

TEST_CASE("the element that exceeds its bound most is named") {
  Cpu device;
  const auto x = tensor(device, {1, 2, 3, 4});
  CHECK(difference(x, numbers(1.5, 2, 3.25, 4), numbers(0.4, 0, 0.125, 0)) ==
        "element (1, 0) is 3, should be 3.25 to within 0.125");
  CHECK(difference(x, numbers(1, 2.5, 3, 4), 0.0) ==
        "element (0, 1) is 2, should be 2.5 to within 0");
}

TEST_CASE("a NaN is a difference on either side, and another shape is") {
  Cpu device;
  const auto x = tensor(device, {1, not_a_number, 3, 4});
  CHECK(difference(x, numbers(1, 2, 3, 4), 1e9) ==
        "element (0, 1) is nan, should be 2 to within 1e+09");
  CHECK(difference(x, numbers(1, static_cast<double>(not_a_number), 3, 4), 1.0) != "");
  CHECK(difference(x, Matrix(1, 4), 1.0) == "is (2, 2), should be (1, 4)");
}

TEST_CASE("bits differ where values are equal, and a NaN has the bits of itself") {
  Cpu device;
  const auto x = tensor(device, {0.0f, not_a_number, 3, 4});
  CHECK(bit_difference(x, tensor(device, {0.0f, not_a_number, 3, 4})) == "");
  CHECK(bit_difference(x, tensor(device, {-0.0f, not_a_number, 3, 4})) ==
        "element 0 of (2, 2) is 0 and -0");
  CHECK(bit_difference(x, x.reshaped({4})) == "shapes (2, 2) and (4)");
}

}  // namespace difference_tests
