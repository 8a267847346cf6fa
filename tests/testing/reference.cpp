// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/testing/reference.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace reference_tests {

using namespace weft;
using namespace weft::testing;

namespace {

Matrix row(std::vector<double> elements) {
  Matrix result(1, static_cast<index_t>(elements.size()));
  result.elements = std::move(elements);
  return result;
}

//! Whether all elements agree to twelve digits.
bool agree(const Matrix& a, const std::vector<double>& b) {
  return std::equal(a.elements.begin(), a.elements.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == Approx(y).epsilon(1e-12); });
}

}  // namespace

// The numbers are PyTorch's, in double: see tests/reference/references.py.

TEST_CASE("the references give PyTorch's numbers") {
  const Matrix x = row({0.5, -1.25, 2.0, 0.0});
  CHECK(agree(softmax(x), {0.15969355003210822, 0.027750577932680404, 0.71569683778238435,
                           0.096859034252827048}));
  CHECK(agree(layer_norm(x, row({1.0, 2.0, -1.0, 0.5}), row({0.1, 0.2, 0.3, 0.4}), 1e-5),
              {0.26104784406262616, -2.4841307343771022, -1.1494305965636353,
               0.26579346328114489}));
  CHECK(agree(rms_norm(x, row({1.0, 2.0, -1.0, 0.5}), 1e-5),
              {0.41477925069720378, -2.0738962534860188, -1.6591170027888151, 0}));
  CHECK(cross_entropy(x, 2, 0.0) == Approx(0.33449861260366254).epsilon(1e-12));
  CHECK(cross_entropy(x, 1, 0.1) == Approx(3.4282486126036624).epsilon(1e-12));
  CHECK(gelu(0.5) == Approx(0.34573123063700656).epsilon(1e-12));
  CHECK(gelu(-1.25) == Approx(-0.13206221708356905).epsilon(1e-12));
  CHECK(silu(0.5) == Approx(0.3112296656009273).epsilon(1e-12));
  CHECK(silu(-1.25) == Approx(-0.27837517353163604).epsilon(1e-12));
}

TEST_CASE("the factor of an element is 0 or the scale, as its sixteen bits decide") {
  const ops::DropoutMask mask(0.5f, RandomKey(3, 4), 9);
  for (const index_t c : {0, 15, 16, 40, 127, 128, 300}) {
    const std::uint32_t counter = static_cast<std::uint32_t>(c / 128 * 16 + c % 16);
    const auto words = philox<7>({counter, 6, 5, 9}, RandomKey(3, 4));
    const auto bits = words[static_cast<std::size_t>(c / 32 % 4)] >> (c / 16 % 2 * 16) & 0xffffu;
    CHECK(dropout_factor(mask, {5, 6}, c) == (bits < 32768 ? 0.0 : 2.0));
  }
  CHECK(dropout_factor({}, {5, 6}, 7) == 1.0);
}

}  // namespace reference_tests
