// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/convert.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <vector>

using namespace weft;

TEST_CASE("all of a buffer is rounded, and comes back rounded") {
  for (const int threads : {1, 3}) {
    Cpu device(threads);
    const index_t n = 3 * ops::block_size + 7;
    std::vector<float> x(n), back(n + 1, -5.0f), expected(n);
    for (index_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      x[at] = 0.37f * static_cast<float>(i) - 1000.0f;
      expected[at] = static_cast<float>(Bfloat16(x[at]));
    }
    std::vector<Bfloat16> narrow(n);
    ops::convert(device, n, x.data(), narrow.data());
    ops::convert(device, n, narrow.data(), back.data());
    CHECK(back.back() == -5.0f);
    back.pop_back();
    CHECK(back == expected);
  }
}
