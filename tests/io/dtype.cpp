// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/io/dtype.hpp>

#include <catch2/catch.hpp>
#include <vector>

#include <weft/core/text.hpp>

namespace dtype_tests {

using namespace weft;
using namespace weft::io;

TEST_CASE("an element type has the name that it is found by") {
  for (int i = 0; i <= static_cast<int>(DType::U64); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(dtype_named(name_of(dtype)) == dtype);
  }
  CHECK(text(DType::BF16, " ", DType::F8_E5M2) == "BF16 F8_E5M2");
  CHECK(dtype_named("f32") == std::nullopt);
  CHECK(dtype_named("") == std::nullopt);
}

TEST_CASE("the element type of a C++ type has its size") {
  const index_t one[] = {1};
  STATIC_REQUIRE(dtype_of<float> == DType::F32);
  STATIC_REQUIRE(dtype_of<std::uint64_t> == DType::U64);
  CHECK(bytes_of(dtype_of<float>, one) == 4);
  CHECK(bytes_of(dtype_of<double>, one) == 8);
  CHECK(bytes_of(dtype_of<std::uint8_t>, one) == 1);
  CHECK(bytes_of(dtype_of<std::uint16_t>, one) == 2);
  CHECK(bytes_of(dtype_of<std::int32_t>, one) == 4);
  CHECK(bytes_of(dtype_of<std::int64_t>, one) == 8);
  CHECK(bytes_of(dtype_of<std::uint64_t>, one) == 8);
}

TEST_CASE("the bytes of an array are counted, unless they are too many or no whole number") {
  const auto bytes = [](DType dtype, std::vector<index_t> shape) { return bytes_of(dtype, shape); };
  CHECK(bytes(DType::F32, {}) == 4);
  CHECK(bytes(DType::F32, {3, 5}) == 60);
  CHECK(bytes(DType::F32, {3, 0, 5}) == 0);
  CHECK(bytes(DType::F6_E2M3, {4}) == 3);
  CHECK(bytes(DType::F6_E2M3, {3}) == std::nullopt);
  CHECK(bytes(DType::U8, {index_t{1} << 59}) == index_t{1} << 59);
  CHECK(bytes(DType::U8, {index_t{1} << 60}) == std::nullopt);
  CHECK(bytes(DType::U8, {index_t{1} << 32, index_t{1} << 32, 0}) == std::nullopt);
  CHECK(bytes(DType::U8, {-1}) == std::nullopt);
}

}  // namespace dtype_tests
