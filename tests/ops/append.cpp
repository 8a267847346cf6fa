// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/ops/append.hpp>

#include <weft/device/cpu.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../message_of.hpp"

namespace append_tests {

using namespace weft;
using weft::testing::message_of;

namespace {

//! Numbers that say where they stand.
std::vector<float> numbered(index_t count, float first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = first++;
  return values;
}

//! Sequences of rows, each followed by room up to `room` rows, which is not a number.
std::vector<float> with_room(const std::vector<float>& rows, index_t length, index_t room,
                             index_t sequences, index_t C) {
  std::vector<float> values(static_cast<std::size_t>(sequences * room * C), std::nanf(""));
  for (index_t h = 0; h < sequences; ++h) {
    std::copy_n(rows.begin() + h * length * C, length * C, values.begin() + h * room * C);
  }
  return values;
}

//! Whether both have the same bits.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("rows of sequences of different lengths get their places") {
  const auto C = GENERATE(as<index_t>(), 1, 15, 16, 17, 48);
  CAPTURE(C);
  Cpu device(2);
  const std::vector<index_t> places{4, 0, 2};
  const index_t stride = 2 * C;
  const auto fresh = numbered(3 * stride, 100.0f);
  auto expected = numbered(5 * C, 0.0f), cache = expected;
  for (index_t n = 0; n < 3; ++n) {
    std::copy_n(fresh.begin() + n * stride + C, C,
                expected.begin() + places[static_cast<std::size_t>(n)] * C);
  }
  ops::append_rows(device, ops::HeadRows<const float>{fresh.data() + C, stride},
                   View<const index_t>(places.data(), {3}), {cache.data(), {5, C}});
  CHECK(same(cache, expected));
}

TEST_CASE("each sequence is its parent and one row more") {
  const auto C = GENERATE(as<index_t>(), 1, 15, 16, 17, 48);
  const auto length = GENERATE(as<index_t>(), 0, 1, 7);
  const auto more = GENERATE(as<index_t>(), 0, 3);
  const auto threads = GENERATE(1, 3);
  CAPTURE(C, length, more, threads);
  Cpu device(threads);
  // Three parents: one has two children, one none, and the order changes. The fresh rows are the
  // last third of wider ones.
  const std::vector<index_t> parents{2, 0, 2};
  const index_t stride = 3 * C, offset = 2 * C, room = length + 1 + more;
  const auto old = numbered(3 * length * C, 0.0f);
  const auto cache = with_room(old, length, length + more, 3, C);
  const auto fresh = numbered(3 * stride, 100'000.0f);
  std::vector<float> expected, continued;
  for (index_t h = 0; h < 3; ++h) {
    const auto append = [&](std::vector<float>& rows, index_t from) {
      rows.insert(rows.end(), old.begin() + from * length * C,
                  old.begin() + (from + 1) * length * C);
      const auto row = fresh.begin() + h * stride + offset;
      rows.insert(rows.end(), row, row + C);
    };
    append(expected, parents[static_cast<std::size_t>(h)]);
    append(continued, h);
  }
  const ops::HeadRows<const float> rows{fresh.data() + offset, stride};
  auto out = with_room({}, 0, room, 3, C);
  ops::append_rows(device, {cache.data(), {3, length + more, C}}, length, {parents.data(), {3}},
                   rows, {out.data(), {3, room, C}});
  CHECK(same(out, with_room(expected, length + 1, room, 3, C)));

  auto itself = with_room(old, length, room, 3, C);
  ops::append_rows(device, length, rows, {itself.data(), {3, room, C}});
  CHECK(same(itself, with_room(continued, length + 1, room, 3, C)));
}

TEST_CASE("no sequences grow to no sequences") {
  Cpu device;
  const auto cache = numbered(12, 0.0f);
  CHECK_NOTHROW(ops::append_rows(device, {cache.data(), {2, 2, 3}}, 2, {nullptr, {0}}, {nullptr, 3},
                                 {nullptr, {0, 3, 3}}));
  CHECK_NOTHROW(ops::append_rows(device, 2, {nullptr, 3}, {nullptr, {0, 3, 3}}));
}

TEST_CASE("caches without room for a row more are refused") {
  Cpu device;
  const std::vector<float> cache(6), fresh(3);
  const std::vector<index_t> parents{0};
  std::vector<float> out(12);
  const auto append = [&](Shape from, Shape to) {
    return message_of<ShapeError>([&] {
      ops::append_rows(device, {cache.data(), from}, 2, {parents.data(), {1}}, {fresh.data(), 3},
                       {out.data(), to});
      return 0;
    });
  };
  CHECK(append({1, 2, 3}, {1, 2, 3}) == "append_rows: no room for row 2 in a cache of (1, 2, 3)");
  CHECK(append({2, 1, 3}, {1, 3, 3}) == "append_rows: no room for row 1 in a cache of (2, 1, 3)");
  CHECK(append({1, 2, 3}, {3, 3}) == "append_rows: no room for row 2 in a cache of (3, 3)");
  CHECK(append({1, 2, 3}, {2, 3, 3}) == "append_rows: out is (2, 3, 3), should be (1, 3, 3)");
  CHECK(append({1, 2, 2}, {1, 3, 3}) == "append_rows: cache is (1, 2, 2), should be (1, 2, 3)");
  CHECK(message_of<ShapeError>([&] {
          ops::append_rows(device, 2, {fresh.data(), 3}, {out.data(), {1, 2, 3}});
          return 0;
        }) == "append_rows: no room for row 2 in a cache of (1, 2, 3)");
}

}  // namespace append_tests
