// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/convert.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace convert_tests {

using namespace weft;

TEMPLATE_TEST_CASE("all of a buffer is rounded, and comes back rounded", "", Bfloat16, Float16) {
  for (const int threads : {1, 3}) {
    Cpu device(threads);
    const index_t n = 3 * ops::block_size + 7;
    std::vector<float> x(n), back(n + 1, -5.0f), expected(n);
    for (index_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      x[at] = 0.37f * static_cast<float>(i) - 1000.0f;
      expected[at] = static_cast<float>(TestType(x[at]));
    }
    std::vector<TestType> narrow(n);
    ops::convert(device, n, x.data(), narrow.data());
    ops::convert(device, n, narrow.data(), back.data());
    CHECK(back.back() == -5.0f);
    back.pop_back();
    CHECK(back == expected);
  }
}

TEMPLATE_TEST_CASE("every number of 16 bits comes back as it was", "", Bfloat16, Float16) {
  Cpu device;
  std::vector<TestType> narrow(0x10000), back(0x10000);
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    narrow[bits].bits = static_cast<std::uint16_t>(bits);
  }
  std::vector<float> wide(narrow.size());
  ops::convert(device, std::ssize(narrow), narrow.data(), wide.data());
  ops::convert(device, std::ssize(narrow), wide.data(), back.data());
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto alone = static_cast<float>(narrow[bits]);
    REQUIRE(std::bit_cast<std::uint32_t>(wide[bits]) == std::bit_cast<std::uint32_t>(alone));
    REQUIRE(back[bits].bits == TestType(alone).bits);
  }
}

TEMPLATE_TEST_CASE(
    "what is no number stays none, and halves are rounded to even, in packs and alone", "",
    Bfloat16, Float16) {
  Cpu device;
  const float infinity = std::numeric_limits<float>::infinity();
  const float cases[] = {std::numeric_limits<float>::quiet_NaN(),
                         infinity,
                         -infinity,
                         0.0f,
                         -0.0f,
                         1.00390625f,
                         1.01171875f,
                         1.00048828125f,
                         -1.00146484375f,
                         65519.996f,
                         65520.0f,
                         -65536.0f,
                         6.1e-5f,
                         -1e-6f,
                         0x1p-25f,
                         0x1.8p-24f,
                         std::numeric_limits<float>::max(),
                         std::numeric_limits<float>::denorm_min(),
                         std::bit_cast<float>(0x7f80'0001u),
                         std::bit_cast<float>(0xffff'ffffu)};
  std::vector<float> x;
  for (int repeat = 0; repeat < 5; ++repeat) x.insert(x.end(), std::begin(cases), std::end(cases));
  std::vector<TestType> narrow(x.size());
  ops::convert(device, std::ssize(x), x.data(), narrow.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i, x[i]);
    CHECK(narrow[i].bits == TestType(x[i]).bits);
  }
}

}  // namespace convert_tests
