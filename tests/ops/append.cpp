// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/append.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "../message_of.hpp"

using namespace weft;
using weft::testing::message_of;

namespace {

//! Numbers that say where they stand.
std::vector<float> numbered(index_t count, float first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = first++;
  return values;
}

std::vector<float> appended(Cpu& device, const std::vector<float>& cache, index_t length,
                            const std::vector<index_t>& parents, const std::vector<float>& fresh,
                            index_t stride, index_t offset, index_t C) {
  const auto H = std::ssize(parents);
  std::vector<float> out(static_cast<std::size_t>(H * (length + 1) * C), std::nanf(""));
  const index_t rows = std::ssize(cache) / C;
  ops::append_rows(device, {cache.data(), {rows, C}}, length, {parents.data(), {H}},
                   {fresh.data() + offset, stride}, {out.data(), {H * (length + 1), C}});
  return out;
}

}  // namespace

TEST_CASE("each sequence is its parent and one row more") {
  const auto C = GENERATE(as<index_t>(), 1, 15, 16, 17, 48);
  const auto length = GENERATE(as<index_t>(), 0, 1, 7);
  const auto threads = GENERATE(1, 3);
  CAPTURE(C, length, threads);
  Cpu device(threads);
  // Three parents: one has two children, one none, and the order changes. The fresh rows are the
  // last third of wider ones.
  const std::vector<index_t> parents{2, 0, 2};
  const index_t stride = 3 * C, offset = 2 * C;
  const auto cache = numbered(3 * length * C, 0.0f);
  const auto fresh = numbered(3 * stride, 100'000.0f);
  std::vector<float> expected;
  for (std::size_t h = 0; h < parents.size(); ++h) {
    const auto old = cache.begin() + parents[h] * length * C;
    expected.insert(expected.end(), old, old + length * C);
    const auto row = fresh.begin() + static_cast<index_t>(h) * stride + offset;
    expected.insert(expected.end(), row, row + C);
  }
  CHECK(appended(device, cache, length, parents, fresh, stride, offset, C) == expected);
}

TEST_CASE("no sequences grow to no sequences") {
  Cpu device;
  CHECK(appended(device, numbered(12, 0.0f), 2, {}, {}, 3, 0, 3).empty());
}

TEST_CASE("a result that has not one row more a sequence is refused") {
  Cpu device;
  const std::vector<float> cache(6), fresh(3);
  const std::vector<index_t> parents{0};
  std::vector<float> out(6);
  CHECK(message_of<ShapeError>([&] {
          ops::append_rows(device, {cache.data(), {2, 3}}, 2, {parents.data(), {1}},
                           {fresh.data(), 3}, {out.data(), {2, 3}});
          return 0;
        }) == "append_rows: out is (2, 3), should be (3, 3)");
}
