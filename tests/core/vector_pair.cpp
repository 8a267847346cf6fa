// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/vector_pair.hpp>

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace vector_pair_tests {

using namespace weft;
using namespace weft::simd;

namespace {

//! Four registers, so that halves are pairs themselves.
template <class Register>
using Four = typename VectorOf<Register, 4 * register_bytes>::type;
using FloatRegisters = Four<FloatRegister>;
using WordRegisters = Four<WordRegister>;

constexpr std::size_t count = register_bytes;  // 4 registers of elements of 4 bytes

template <class T>
using Elements = std::array<T, count>;

template <class T, class Vector>
Elements<T> elements_of(Vector v) {
  Elements<T> elements;
  store_all(elements.data(), v);
  return elements;
}

//! Whether element i of a vector is f(i) for all i.
template <class T, class Vector, class F>
bool each(Vector v, F f) {
  const auto elements = elements_of<T>(v);
  for (std::size_t i = 0; i < count; ++i) {
    if (elements[i] != static_cast<T>(f(i))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("operators go element by element, with numbers on either side") {
  Elements<float> a, b;
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i) - 7.25f;
    b[i] = 1.5f + static_cast<float>(i % 5);
  }
  const auto x = load_all<FloatRegisters>(a.data()), y = load_all<FloatRegisters>(b.data());
  CHECK(each<float>(x, [&](auto i) { return a[i]; }));
  CHECK(each<float>(x + y, [&](auto i) { return a[i] + b[i]; }));
  CHECK(each<float>(x - y, [&](auto i) { return a[i] - b[i]; }));
  CHECK(each<float>(x * y, [&](auto i) { return a[i] * b[i]; }));
  CHECK(each<float>(x / y, [&](auto i) { return a[i] / b[i]; }));
  CHECK(each<float>(x - 3.0f, [&](auto i) { return a[i] - 3.0f; }));
  CHECK(each<float>(3.0f - x, [&](auto i) { return 3.0f - a[i]; }));
  CHECK(each<float>(1.0f / y, [&](auto i) { return 1.0f / b[i]; }));
  CHECK(each<float>(-x, [&](auto i) { return -a[i]; }));
  auto z = x;
  z += y;
  z -= 2.0f;
  CHECK(each<float>(z, [&](auto i) { return a[i] + b[i] - 2.0f; }));
}

TEST_CASE("comparisons select element by element") {
  Elements<float> a, b;
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  const auto x = load_all<FloatRegisters>(a.data()), y = load_all<FloatRegisters>(b.data());
  CHECK(each<float>(select(x > y, x, y), [&](auto i) { return a[i] > b[i] ? a[i] : b[i]; }));
  CHECK(each<float>(select(x < 3.0f, x, y), [&](auto i) { return a[i] < 3.0f ? a[i] : b[i]; }));
  CHECK(each<float>(select(3.0f >= x, x, y), [&](auto i) { return 3.0f >= a[i] ? a[i] : b[i]; }));
}

TEST_CASE("words are shifted, masked and multiplied element by element") {
  Elements<std::uint32_t> a;
  for (std::uint32_t i = 0; i < count; ++i) a[i] = 0x9e3779b9u * (i + 1);
  const auto x = load_all<WordRegisters>(a.data());
  CHECK(each<std::uint32_t>(x & 0xffffu, [&](auto i) { return a[i] & 0xffffu; }));
  CHECK(each<std::uint32_t>(x | 0xffffu, [&](auto i) { return a[i] | 0xffffu; }));
  CHECK(each<std::uint32_t>(x ^ x >> 3, [&](auto i) { return a[i] ^ a[i] >> 3; }));
  CHECK(each<std::uint32_t>(x << 16, [&](auto i) { return a[i] << 16; }));
  const auto products = multiply_wide(x, 0xcd9e8d57u);
  const auto product = [&](auto i) { return std::uint64_t{a[i]} * 0xcd9e8d57u; };
  CHECK(each<std::uint32_t>(products.high, [&](auto i) { return product(i) >> 32; }));
  CHECK(each<std::uint32_t>(products.low, product));
  // The comparison is one of numbers without a sign.
  CHECK(each<std::int32_t>(x >= 0x80000000u,
                           [&](auto i) { return a[i] >= 0x80000000u ? -1 : 0; }));
}

TEST_CASE("square roots and bits pass through halves") {
  Elements<float> a;
  for (std::size_t i = 0; i < count; ++i) a[i] = 0.3f * static_cast<float>(i);
  const auto x = load_all<FloatRegisters>(a.data());
  CHECK(each<float>(sqrt(x), [&](auto i) { return std::sqrt(a[i]); }));
  const auto bits = bits_as<WordRegisters>(x);
  CHECK(elements_of<std::uint32_t>(bits)[count - 1] ==
        std::bit_cast<std::uint32_t>(a[count - 1]));
  CHECK(each<float>(bits_as<FloatRegisters>(bits), [&](auto i) { return a[i]; }));
}

}  // namespace vector_pair_tests
