// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/core/simd.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace simd_tests {

using namespace weft;
using simd::Floats;
using simd::Full;
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

//! The elements of a vector.
std::array<float, 16> lanes_of(Floats v) {
  std::array<float, 16> lanes;
  simd::store(lanes.data(), Full{0}, v);
  return lanes;
}

Floats vector_of(const std::array<float, 16>& lanes) { return simd::load(lanes.data(), Full{0}); }

float exp_of(float x) { return lanes_of(simd::exp(simd::broadcast(x)))[5]; }

//! The largest relative error of the exponential of numbers from -87 to 88.
double worst_error_of_exp() {
  double worst = 0.0;
  for (int step = 0; step <= 350000; ++step) {  // in steps of 1 / 2000
    const float x = std::min(-87.0f + static_cast<float>(step) / 2000.0f, 88.0f);
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(exp_of(x)) - exact) / exact);
  }
  return worst;
}

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
    const auto v = lanes_of(simd::load(from.data(), Tail{2, count}));
    for (int lane = 0; lane < simd::width; ++lane) {
      CHECK(v[static_cast<std::size_t>(lane)] ==
            (lane < count ? static_cast<float>(3 + lane) : 0.0f));
    }
    std::vector<float> exact(static_cast<std::size_t>(2 + count), -1.0f), longer(20, -1.0f);
    const auto written = simd::load(counting_from(3.0f, 16).data(), Full{0});
    simd::store(exact.data(), Tail{2, count}, written);
    simd::store(longer.data(), Tail{2, count}, written);
    for (std::size_t i = 0; i < longer.size(); ++i) {
      const auto n = static_cast<int>(i) - 2;
      const float should = n >= 0 && n < count ? static_cast<float>(3 + n) : -1.0f;
      CHECK(longer[i] == should);
      if (i < exact.size()) CHECK(exact[i] == should);
    }
  }
}

TEST_CASE("packs of integers are read as packs of floats are") {
  std::vector<std::int32_t> from;
  for (int i = 0; i < 21; ++i) from.push_back(100 + i);
  std::array<std::int32_t, 16> full, tail, counting;
  simd::store_all(full.data(), simd::load(from.data(), Full{2}));
  simd::store_all(tail.data(), simd::load(from.data(), Tail{16, 5}));
  simd::store_all(counting.data(), simd::iota());
  for (int lane = 0; lane < simd::width; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    CHECK(full[i] == 102 + lane);
    CHECK(tail[i] == (lane < 5 ? 116 + lane : 0));
    CHECK(counting[i] == lane);
  }
}

TEST_CASE("the exponential keeps its documented error") {
  CHECK(worst_error_of_exp() < 3e-7);
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(exp_of(1e30f) == exp_of(88.0f));
}

// Compiled so too: see tests/meson.build.
TEST_CASE("the exponential is one where -ffast-math reorders its sums") {
  CHECK(worst_error_of_exp() < 5e-6);
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
  for (std::uint32_t payload = 1; payload < 0x800000; payload = 2 * payload + 1) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      CAPTURE(payload, sign);
      CHECK(std::isnan(exp_of(std::bit_cast<float>(sign | 0x7f800000U | payload))));
    }
  }
}

TEST_CASE("cosines and sines keep their documented error") {
  double worst = 0.0;
  const auto check = [&](float x) {
    const auto [cosines, sines] = simd::cos_sin(simd::broadcast(x));
    const auto angle = static_cast<double>(x);
    for (const auto& [is, should] : {std::pair(lanes_of(cosines)[3], std::cos(angle)),
                                     std::pair(lanes_of(sines)[7], std::sin(angle))}) {
      worst = std::max(worst, std::abs(static_cast<double>(is) - should));
    }
  };
  for (int step = -200'000; step <= 200'000; ++step) check(static_cast<float>(step) * 1.57e-3f);
  for (int position = 0; position <= 131'072; ++position) check(static_cast<float>(position));
  for (float x = 1.0f; x < 131'072.0f; x *= 1.0001f) check(x);
  for (float x = 131'072.0f; x < 1e30f; x *= 1.37f) check(x);  // by the library
  CHECK(worst < 1.2e-7);
  for (const float lost : {infinity, -infinity, not_a_number}) {
    CHECK(std::isnan(lanes_of(simd::cos_sin(simd::broadcast(lost)).first)[0]));
    CHECK(std::isnan(lanes_of(simd::cos_sin(simd::broadcast(lost)).second)[0]));
  }
}

TEST_CASE("each lane has the cosine and sine of its own angle") {
  std::array<float, 16> angles;
  for (std::size_t i = 0; i < 16; ++i) angles[i] = -50.0f + 7.3f * static_cast<float>(i);
  const auto [cosines, sines] = simd::cos_sin(vector_of(angles));
  for (std::size_t i = 0; i < 16; ++i) {
    const auto [cosine, sine] = simd::cos_sin(angles[i]);
    CHECK(lanes_of(cosines)[i] == Approx(cosine).margin(2e-7));
    CHECK(lanes_of(sines)[i] == Approx(sine).margin(2e-7));
  }
  CHECK(lanes_of(simd::cos_sin(simd::broadcast(0.0f)).first)[0] == 1.0f);
  CHECK(lanes_of(simd::cos_sin(simd::broadcast(0.0f)).second)[0] == 0.0f);
}

TEST_CASE("a sum adds lanes as a balanced tree") {
  std::array<float, 16> v;
  for (std::size_t i = 0; i < 16; ++i) v[i] = 1.0f / static_cast<float>(3 + i);
  // Written out, since another order gives other bits.
  const auto four = [&](std::size_t i) { return (v[i] + v[i + 8]) + (v[i + 4] + v[i + 12]); };
  CHECK(simd::sum(vector_of(v)) == (four(0) + four(2)) + (four(1) + four(3)));
}

TEST_CASE("the largest lane is found wherever it stands") {
  for (std::size_t at = 0; at < 16; ++at) {
    auto v = lanes_of(simd::broadcast(-5.0f));
    v[at] = -2.0f;
    CHECK(simd::max(vector_of(v)) == -2.0f);
  }
}

TEST_CASE("lane by lane: select, min, max and sqrt") {
  std::array<float, 16> a;
  for (std::size_t i = 0; i < 16; ++i) a[i] = static_cast<float>(i);
  const Floats x = vector_of(a), y = simd::broadcast(7.5f);
  const auto selected = lanes_of(simd::select(x > y, x, y)), largest = lanes_of(simd::max(x, y)),
             smallest = lanes_of(simd::min(x, y)), root = lanes_of(simd::sqrt(x));
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(selected[i] == std::max(a[i], 7.5f));
    CHECK(largest[i] == std::max(a[i], 7.5f));
    CHECK(smallest[i] == std::min(a[i], 7.5f));
    CHECK(root[i] == std::sqrt(a[i]));
  }
}

TEST_CASE("lanes past the end of a row become neutral") {
  const auto tail = lanes_of(simd::mask_tail(Tail{32, 5}, simd::broadcast(3.0f), -1.0f));
  const auto full = lanes_of(simd::mask_tail(Full{32}, simd::broadcast(3.0f), -1.0f));
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(tail[i] == (i < 5 ? 3.0f : -1.0f));
    CHECK(full[i] == 3.0f);
  }
}

}  // namespace simd_tests
