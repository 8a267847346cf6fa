// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/reference_attention.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

namespace reference_attention_tests {

using namespace weft;
using namespace weft::testing;

namespace {

Matrix pairs(std::vector<double> elements) {
  Matrix result(static_cast<index_t>(elements.size()) / 2, 2);
  result.elements = std::move(elements);
  return result;
}

//! Whether all elements agree to twelve digits.
bool agree(const Matrix& a, const std::vector<double>& b) {
  return std::equal(
      a.elements.begin(), a.elements.end(), b.begin(), b.end(),
      [](double x, double y) { return x == Approx(y).epsilon(1e-12).margin(1e-15); });
}

}  // namespace

TEST_CASE("the reference attention gives PyTorch's numbers") {
  // See tests/reference/references.py.
  const ReferenceAttention attention{pairs({0.5, -1.0, 1.5, 0.25, -0.75, 2.0}),
                                     pairs({1.0, 0.5, -0.5, 1.25, 0.25, -2.0}),
                                     pairs({2.0, -1.0, 0.5, 0.75, -1.5, 1.0}),
                                     std::sqrt(0.5), true, Matrix(3, 3, 1.0)};
  CHECK(agree(attention.output(), {2, -1, 1.7169335320676287, -0.66975578741223341,
                                   0.68988902969630672, 0.51632000447372728}));
  const auto [dq, dk, dv] = attention.gradients(pairs({1.0, -0.5, 0.25, 2.0, -1.0, 0.75}));
  CHECK(agree(dq, {0, 0, -0.50745676754555513, 0.25372838377277773, -0.34089293269138282,
                   0.14020005670882507}));
  CHECK(agree(dk, {-0.33306511733418553, -0.54962052848791154, 0.34095548506554202,
                   0.52857954787096106, -0.0078903677313564465, 0.021040980616950523}));
  CHECK(agree(dv, {1.068458180583495, 1.2233510988276708, -0.81262963936081556,
                   1.0222774952553202, -0.0058285412226791672, 0.0043714059170093756}));
}

TEST_CASE("what a factor of zero drops neither is seen nor has a gradient") {
  ReferenceAttention attention{pairs({0.5, -1.0}), pairs({1.0, 0.5, -0.5, 1.25}),
                               pairs({2.0, -1.0, 0.5, 0.75}), 1.0, false, Matrix(1, 2, 1.0)};
  attention.factors(0, 1) = 0.0;
  const double p = attention.probabilities()(0, 0);
  CHECK(agree(attention.output(), {2.0 * p, -1.0 * p}));
  CHECK(agree(attention.gradients(pairs({1.0, 1.0})).dv, {p, p, 0.0, 0.0}));
}

}  // namespace reference_attention_tests
