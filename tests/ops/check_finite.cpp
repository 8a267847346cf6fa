// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/check_finite.hpp>

#include <weft/core/philox.hpp>
#include <weft/ops/attention.hpp>
#include <weft/ops/matmul.hpp>
#include <weft/ops/rows.hpp>
#include <weft/tensor/sequences.hpp>
#include <weft/tensor/tensor.hpp>
#include <weft/testing/far_device.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../message_of.hpp"

namespace check_finite_tests {

using namespace weft;
using namespace weft::ops;
using namespace weft::testing;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float huge = std::numeric_limits<float>::max();

template <class D>
Tensor<float, D> tensor(D& device, const std::vector<float>& elements, Shape shape) {
  return to_device<float>(device, elements, shape);
}

//! (2, 2) times (1, 2) transposed, of which element (1, 0) overflows.
template <class D>
void overflow(D& device) {
  const auto a = tensor(device, {1, 2, huge, huge}, {2, 2});
  const auto b = tensor(device, {1, 1}, {1, 2});
  matmul_nt(device, View<const float>(a), View<const float>(b),
            View<float>(tensor(device, {0, 0}, {2, 1})));
}

}  // namespace

TEMPLATE_TEST_CASE("an operation is named that makes a number that is not finite", "", Cpu,
                   testing::FarDevice) {
  TestType device;
  CHECK_NOTHROW(overflow(device));
  {
    const CheckFinite checked;
    CHECK(message_of<NotFiniteError>([&] { overflow(device); }) ==
          "matmul_nt: c has inf at (1, 0) of (2, 1)");
  }
  CHECK_NOTHROW(overflow(device));
}

TEST_CASE("numbers are checked as long as one check lives") {
  Cpu device;
  const CheckFinite outer;
  { const CheckFinite inner; }
  CHECK_THROWS_AS(overflow(device), NotFiniteError);
}

TEST_CASE("what an operation reads may be as it likes") {
  Cpu device;
  const auto x = tensor(device, {not_a_number, 1}, {2, 1}), y = tensor(device, {0, 0}, {2, 1});
  const CheckFinite checked;
  CHECK(message_of<NotFiniteError>([&] { add(device, View<const float>(x), View<float>(y)); }) ==
        "add: y has nan at (0, 0) of (2, 1)");
}

TEST_CASE("the error tells which parameter was asked for last") {
  Cpu device;
  const CheckFinite checked;
  CheckFinite::at(40);
  try {
    overflow(device);
    FAIL("nothing was thrown");
  } catch (const NotFiniteError& error) {
    CHECK(error.parameter() == 40);
  }
}

TEMPLATE_TEST_CASE("the rows of heads are those of a wider array", "", Cpu, testing::FarDevice) {
  // Queries, keys and values beside each other: only the values of the second row are bad.
  TestType device;
  const std::vector<index_t> lengths = {1, 1};
  const std::vector<std::uint32_t> ids = {0, 1};
  const auto layout = make_layout(device, lengths, ids);
  const auto qkv = tensor(device, {1, 2, 3, 4, 1, 1, 1, 2, 3, 4, 1, not_a_number}, {2, 6});
  const auto out = tensor(device, std::vector<float>(12, not_a_number), {2, 6});
  const Tensor<float, TestType> log_sums(device, {2, 1});
  const auto at = [&](index_t column) { return HeadRows<const float>{qkv.data() + column, 6}; };
  const AttentionProblem<TestType> problem{1, 2, false, 1.0f, layout.get(), layout.get(), {}};
  const CheckFinite checked;
  // The first sequence does not see it, and what lies beside the rows does not count.
  CHECK(message_of<NotFiniteError>([&] {
          attention(device, problem, at(0), at(2), at(4), {out.data(), 6}, log_sums.data());
        }) == "attention: out has nan at (1, 1) of (2, 2)");
}

}  // namespace check_finite_tests
