// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/simd.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using namespace weft;
using simd::Floats;
using simd::Full;
using simd::Ints;
using simd::Tail;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

//! Exactly as long as given, so that AddressSanitizer sees an access past its end.
std::vector<float> counting_from(float first, int n) {
  std::vector<float> values;
  for (int i = 0; i < n; ++i) values.push_back(first + static_cast<float>(i));
  return values;
}

float exp_of(float x) { return simd::exp(simd::broadcast(x))[0]; }

}  // namespace

TEST_CASE("a full pack moves sixteen columns") {
  const std::vector<float> from = counting_from(1.0f, 19);
  std::vector<float> to(19, -1.0f);
  simd::store(to.data(), Full{3}, simd::load(from.data(), Full{3}));
  for (std::size_t i = 0; i < 19; ++i) CHECK(to[i] == (i < 3 ? -1.0f : from[i]));
}

TEST_CASE("a tail reads zeros past its end and leaves what follows alone") {
  for (int count = 1; count < simd::width; ++count) {
    const std::vector<float> from = counting_from(1.0f, 2 + count);
    const Floats v = simd::load(from.data(), Tail{2, count});
    for (int lane = 0; lane < simd::width; ++lane) {
      CHECK(v[lane] == (lane < count ? static_cast<float>(3 + lane) : 0.0f));
    }
    std::vector<float> to(static_cast<std::size_t>(2 + count), -1.0f);
    simd::store(to.data(), Tail{2, count}, simd::broadcast(7.0f));
    CHECK(to[1] == -1.0f);
    CHECK(std::count(to.begin(), to.end(), 7.0f) == count);

    std::vector<float> longer(20, -1.0f);
    simd::store(longer.data(), Tail{2, count}, simd::broadcast(7.0f));
    CHECK(std::count(longer.begin(), longer.end(), 7.0f) == count);
    CHECK(longer[static_cast<std::size_t>(2 + count)] == -1.0f);
  }
}

TEST_CASE("packs of integers are read as packs of floats are") {
  std::vector<std::int32_t> from;
  for (int i = 0; i < 21; ++i) from.push_back(100 + i);
  const Ints full = simd::load(from.data(), Full{2});
  const Ints tail = simd::load(from.data(), Tail{16, 5});
  for (int lane = 0; lane < simd::width; ++lane) {
    CHECK(full[lane] == 102 + lane);
    CHECK(tail[lane] == (lane < 5 ? 116 + lane : 0));
  }
}

TEST_CASE("the exponential keeps its documented error") {
  double worst = 0.0;
  for (int step = 0; step <= 350000; ++step) {  // -87 to 88 in steps of 1 / 2000
    const float x = std::min(-87.0f + static_cast<float>(step) / 2000.0f, 88.0f);
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(exp_of(x)) - exact) / exact);
  }
  CHECK(worst < 3e-7);
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(exp_of(1e30f) == exp_of(88.0f));
}

TEST_CASE("the exponential of what is far below zero is zero") {
  CHECK(exp_of(std::nextafter(-87.0f, -100.0f)) == 0.0f);
  CHECK(exp_of(-1e30f) == 0.0f);
  CHECK(exp_of(-infinity) == 0.0f);
}

TEST_CASE("the exponential of NaN is NaN, so that a fault is seen in the loss") {
  CHECK(std::isnan(exp_of(not_a_number)));
  CHECK(std::isnan(exp_of(-not_a_number)));
  CHECK(std::isnan(exp_of(infinity - infinity)));
}

TEST_CASE("a sum adds lanes as a balanced tree") {
  Floats v;
  for (int lane = 0; lane < simd::width; ++lane) v[lane] = 1.0f / static_cast<float>(3 + lane);
  // Written out, since another order gives other bits.
  const auto four = [&](int i) { return (v[i] + v[i + 8]) + (v[i + 4] + v[i + 12]); };
  CHECK(simd::sum(v) == (four(0) + four(2)) + (four(1) + four(3)));
}

TEST_CASE("the largest lane is found wherever it stands") {
  for (int at = 0; at < simd::width; ++at) {
    Floats v = simd::broadcast(-5.0f);
    v[at] = -2.0f;
    CHECK(simd::max(v) == -2.0f);
  }
}

TEST_CASE("lane by lane: select, min, max and sqrt") {
  Floats a, b;
  for (int lane = 0; lane < simd::width; ++lane) {
    a[lane] = static_cast<float>(lane);
    b[lane] = 7.5f;
  }
  const Floats selected = simd::select(a > b, a, b), largest = simd::max(a, b),
               smallest = simd::min(a, b), root = simd::sqrt(a);
  for (int lane = 0; lane < simd::width; ++lane) {
    CHECK(selected[lane] == std::max(a[lane], 7.5f));
    CHECK(largest[lane] == std::max(a[lane], 7.5f));
    CHECK(smallest[lane] == std::min(a[lane], 7.5f));
    CHECK(root[lane] == std::sqrt(a[lane]));
  }
}

TEST_CASE("lanes past the end of a row become neutral") {
  const Floats v = simd::broadcast(3.0f);
  CHECK(simd::sum(simd::mask_tail(Tail{32, 5}, v, 0.0f)) == 15.0f);
  CHECK(simd::sum(simd::mask_tail(Full{32}, v, 0.0f)) == 48.0f);
}
