// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/registers.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace registers_tests {

using namespace weft;
using simd::FloatRegister;
using simd::WordRegister;

namespace {

constexpr std::size_t words = simd::register_bytes / 4;

template <class Register, class T>
Register register_of(const std::array<T, words>& elements) {
  Register v;
  std::memcpy(&v, elements.data(), sizeof v);
  return v;
}

template <class T, class Register>
std::array<T, words> elements_of(Register v) {
  std::array<T, words> elements;
  std::memcpy(elements.data(), &v, sizeof v);
  return elements;
}

}  // namespace

TEST_CASE("the square root is rounded as std::sqrt rounds it") {
  for (const float first : {0.0f, 1e-38f, 2.0f, 1e30f}) {
    std::array<float, words> x;
    for (std::size_t i = 0; i < words; ++i) x[i] = first * (1.0f + 0.37f * static_cast<float>(i));
    const auto roots = elements_of<float>(simd::sqrt(register_of<FloatRegister>(x)));
    for (std::size_t i = 0; i < words; ++i) CHECK(roots[i] == std::sqrt(x[i]));
  }
}

TEST_CASE("a product and a sum, rounded once with AVX-512") {
  std::array<float, words> a, b, c;
  for (std::size_t i = 0; i < words; ++i) {
    a[i] = 1.0f + 0x1p-12f * static_cast<float>(i + 1);
    b[i] = 1.0f - 0x1p-12f * static_cast<float>(i + 1);
    c[i] = -1.0f;  // what rounding a b first loses
  }
  const auto sums = elements_of<float>(
      simd::multiply_add(register_of<FloatRegister>(a), register_of<FloatRegister>(b),
                         register_of<FloatRegister>(c)));
  for (std::size_t i = 0; i < words; ++i) {
    const float once = std::fma(a[i], b[i], c[i]);
    if (WEFT_AVX512) CHECK(sums[i] == once);
    CHECK(std::abs(sums[i] - once) <= 0x1p-24f);
  }
  // Narrower ones have the same bits.
  constexpr std::size_t narrow_words = sizeof(simd::NarrowFloats) / 4;
  const auto narrow = [](const std::array<float, words>& elements) {
    simd::NarrowFloats v;
    std::memcpy(&v, elements.data(), sizeof v);
    return v;
  };
  const auto narrow_sums = simd::multiply_add(narrow(a), narrow(b), narrow(c));
  for (std::size_t i = 0; i < narrow_words; ++i) CHECK(narrow_sums[i] == sums[i]);
}

TEST_CASE("products have all their 64 bits, in every element") {
  std::array<std::uint32_t, words> a;
  for (const std::uint32_t m : {0u, 1u, 0xd2511f53u, 0xffffffffu}) {
    for (std::uint32_t i = 0; i < words; ++i) a[i] = 0xfedcba98u * (i + 1) + i;
    const auto products = simd::multiply_wide(register_of<WordRegister>(a), m);
    const auto high = elements_of<std::uint32_t>(products.high);
    const auto low = elements_of<std::uint32_t>(products.low);
    for (std::size_t i = 0; i < words; ++i) {
      CHECK(((std::uint64_t{high[i]} << 32) | low[i]) == std::uint64_t{a[i]} * m);
    }
  }
}

TEST_CASE("a mask selects element by element") {
  std::array<float, words> x;
  for (std::size_t i = 0; i < words; ++i) x[i] = i % 3 == 1 ? 1.0f : -1.0f;
  const auto v = register_of<FloatRegister>(x);
  CHECK(elements_of<float>(simd::select(v > 0.0f, v, -v)) == elements_of<float>(v * v));
}

}  // namespace registers_tests
